import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keepOpencodeOffline } from "./opencode-packages.ts";

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "berth-home-"))));
afterEach(() => rmSync(home, { recursive: true }));

test("opencode installs no packages in an empty configuration folder", () => {
  mkdirSync(join(home, "other/opencode"), { recursive: true });
  keepOpencodeOffline("/opt/berth/bin/opencode", { HOME: home });
  keepOpencodeOffline("opencode", { HOME: home, XDG_CONFIG_HOME: join(home, "other") });
  for (const folder of [".config", "other"])
    expect(readFileSync(join(home, folder, "opencode/.npmrc"), "utf8")).toContain("\noffline=true\n");
});

test("settings of the user stay as they are, and other agents get none", () => {
  const folder = join(home, ".config/opencode");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "opencode.json"), "{}");
  keepOpencodeOffline("opencode", { HOME: home });
  expect(readdirSync(folder)).toEqual(["opencode.json"]);
  keepOpencodeOffline("goose", { HOME: home, XDG_CONFIG_HOME: join(home, "other") });
  expect(readdirSync(home)).toEqual([".config"]);
});
