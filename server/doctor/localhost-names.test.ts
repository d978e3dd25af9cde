import { expect, test } from "vitest";
import { readConfig } from "../config/config.ts";
import { checkLocalhostNames } from "./localhost-names.ts";

const check = async (env: Record<string, string>, resolve: () => Promise<unknown>) => {
  const findings = await checkLocalhostNames(readConfig(env).config, resolve);
  return findings.map(({ state }) => state);
};
const known = () => Promise.resolve();
const unknown = () => Promise.reject(new Error("ENOTFOUND"));
const silent = () => new Promise(() => {});

test("a system that does not know the names of previews on localhost is a note, also if it never answers", async () => {
  expect(await check({}, known)).toEqual(["good"]);
  expect(await check({}, unknown)).toEqual(["note"]);
  expect(await check({ BERTH_PREVIEW_DOMAIN: "preview.localhost:8080" }, silent)).toEqual(["note"]);
});

test("previews elsewhere have names of their own", async () => {
  expect(await check({ BERTH_PREVIEW_DOMAIN: "preview.example.net" }, unknown)).toEqual([]);
  expect(await check({ BERTH_BASE_URL: "https://berth.example.com" }, unknown)).toEqual([]);
});
