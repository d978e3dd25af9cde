import { mkdirSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fetchFeatures } from "./fetch-features.ts";

const NO_TOOL = () => Promise.reject(new Error("nothing is fetched"));

test("a feature that others depend on with equal options is fetched once", async () => {
  using repository = mkdtempDisposableSync(join(tmpdir(), "berth-features-"));
  const add = (id: string, more: object) => {
    mkdirSync(join(repository.path, id));
    writeFileSync(join(repository.path, id, "devcontainer-feature.json"), JSON.stringify({ id, ...more }));
  };
  const options = { "tools-version": "2" };
  add("a", { dependsOn: { "./c": options } });
  add("b", { dependsOn: { "./c": options } });
  add("c", { dependsOn: { "./d": { "on-start": true } } });
  add("d", { dependsOn: { "./c": options } });
  const wanted = ["a", "b"].map((id) => ({ id: `./${id}`, folder: id, options: {} }));
  const plan = { base: { image: "debian" }, features: wanted, installOrder: [], containerUser: null, remoteUser: null };
  const features = await fetchFeatures(plan, { repository: repository.path, folder: repository.path, run: NO_TOOL });
  expect(features.map(({ id }) => id)).toEqual(["./a", "./b", "./c", "./d"]);
});
