import { expect, test } from "vitest";
import { featureDockerfile } from "./feature-dockerfile.ts";
import { parseFeature, wantedFeatures, type Feature } from "./feature.ts";
import { orderFeatures } from "./feature-order.ts";

const feature = (id: string, more: object = {}, options: Record<string, string> = {}): Feature =>
  parseFeature(JSON.stringify({ id, ...more }), { id, folder: `/features/${id}`, options });

const orderOf = (features: Feature[], installOrder: string[] = []) => orderFeatures(features, installOrder).map(({ id }) => id);

test("options become variables in capitals, with their defaults", () => {
  const options = { "node-version": { default: "lts" }, installTools: { default: true }, "2nd": {}, "a b": {} };
  expect(feature("x", { options }, { "2nd": "yes", "a b": "c" }).options).toEqual({
    NODE_VERSION: "lts",
    INSTALLTOOLS: "true",
    _ND: "yes",
    A_B: "c",
  });
  expect(wantedFeatures({ "ghcr.io/a/b:1": "20", "./c": { on: true, list: [1] } })).toEqual([
    { id: "ghcr.io/a/b:1", folder: null, options: { version: "20" } },
    { id: "./c", folder: null, options: { on: "true" } },
  ]);
});

test("a feature with more options than a command can have is refused", () => {
  expect(() => feature("x", {}, Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`o${at}`, "y"])))).toThrow(
    "The feature x has more than 100 options",
  );
  expect(() => feature("x", { options: { text: { default: "y".repeat(70_000) } } })).toThrow("or more than 32 KiB of them");
});

test("a feature is installed after those that it depends on or wants to follow, whatever their version", () => {
  const first = feature("ghcr.io/a/first:2.1");
  const needs = feature("needs", { dependsOn: { "ghcr.io/a/first:2": {} } });
  const follows = feature("follows", { installsAfter: ["needs", "ghcr.io/a/absent"] });
  expect(orderOf([follows, needs, first])).toEqual(["ghcr.io/a/first:2.1", "needs", "follows"]);
  expect(orderOf([feature("a"), feature("b"), feature("c")], ["c", "b"])).toEqual(["c", "b", "a"]);
  // The specification installs all that wait for nothing before those that follow them.
  const [a, b, c] = [feature("a"), feature("b", { installsAfter: ["a"] }), feature("c")];
  expect(orderOf([c, b, a])).toEqual(["a", "c", "b"]);
  expect(orderOf([c, b, a], ["b", "c"])).toEqual(["c", "a", "b"]);
  const local = feature("./features/local", { id: "local" });
  expect(orderOf([feature("after", { installsAfter: ["local"] }), local])).toEqual(["./features/local", "after"]);
  const circle = [feature("a", { dependsOn: { b: {} } }), feature("b", { dependsOn: { a: {} } })];
  expect(() => orderOf(circle)).toThrow("These features wait for each other: a, b.");
});

test("the Dockerfile installs each feature as root, and its last user is that of the sandbox", () => {
  const features = [feature("one", { containerEnv: { PATH: "/opt/one:${PATH}" } }, { text: "it's" })];
  const lines = (users: object) =>
    featureDockerfile({ base: "localhost/first", imageUser: "node:node", containerUser: null, remoteUser: null, features, ...users }).split(
      "\n",
    );
  const [from, root, env, copy, run, clean, user] = lines({ remoteUser: "dev" });
  expect([from, root, env, copy]).toEqual([
    "FROM localhost/first",
    "USER root",
    'ENV PATH="/opt/one:${PATH}"',
    "COPY 0 /tmp/dev-container-features/0",
  ]);
  expect(run).toContain(String.raw`_CONTAINER_USER='node' _REMOTE_USER='dev'`);
  expect(run).toContain(String.raw`TEXT='it'\''s' && ./install.sh`);
  expect([clean, user]).toEqual(["RUN rm -rf /tmp/dev-container-features", "USER dev"]);
  expect(lines({})[6]).toBe("USER node:node");
  expect(lines({ containerUser: "app" })[6]).toBe("USER app");
});
