import { execFile } from "node:child_process";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { serverFlags } from "../../cli/server-flags.js";
import { machine, testWith } from "../support/machine.ts";
import { prepareBerth } from "../support/servers/berth.ts";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "berth-lost-"));
afterAll(() => rmSync(folder, { recursive: true }));

// Without a configured API key, as a newcomer starts it.
const NEWCOMER = { BERTH_API_KEY: "", BERTH_DRIVER: "process" };

test("a deleted master key stops the start and is not replaced, and a deleted demo key is explained", async () => {
  await using server = await prepareBerth(NEWCOMER);
  const file = (name: string) => join(server.dataDir, name);
  await server.start();
  await server.stop();
  renameSync(file("master-key"), file("kept-key"));
  rmSync(file("demo-api-key"));

  await expect(server.start()).rejects.toThrow(`The master key ${file("master-key")} is missing, but the store was used with it.`);
  expect(existsSync(file("master-key"))).toBe(false);

  renameSync(file("kept-key"), file("master-key"));
  await server.start();
  await expect.poll(() => server.output()).toContain(`${file("demo-api-key")} is missing; npx berth key issue demo prints another key`);
});

test("a master key of another installation is named as a file, not as a setting", async () => {
  await using server = await prepareBerth({ BERTH_DRIVER: "process" });
  const key = join(server.dataDir, "master-key");
  await server.start();
  await server.api.create({ externalUserId: "ann" });
  await server.stop();
  const kept = readFileSync(key);
  writeFileSync(key, `${"ab".repeat(32)}\n`);
  await expect(server.start()).rejects.toThrow(`The master key ${key} does not open what is stored`);
  writeFileSync(key, kept);
  await server.start();
});

describe("a data folder that cannot be used is refused with one sentence", () => {
  const CURE = "Give the folder with its files to the user that runs the server, or set BERTH_DATA_DIR to another folder.";

  async function refusal(dataDir: string, wrapper: readonly string[] = []): Promise<string> {
    const [program, ...args] = [...wrapper, process.execPath, ...serverFlags(), join(root, "cli/bin.js"), "serve"];
    const env = { PATH: process.env.PATH ?? "", HOME: folder, BERTH_DATA_DIR: dataDir, BERTH_PORT: "0", BERTH_LOG_LEVEL: "warn" };
    const ended = await run(program!, args, { env }).catch((error: { stderr: string }) => error);
    return ended.stderr;
  }

  test.each([
    ["it is a file", "file", "it is a file."],
    ["a part of its path is a file", "file/below", "a part of its path is a file."],
  ])("%s", async (_, path, reason) => {
    writeFileSync(join(folder, "file"), "");
    const dataDir = join(folder, path);
    expect(await refusal(dataDir)).toBe(`berth: The data folder ${dataDir} cannot be used: ${reason} ${CURE}\n`);
  });

  testWith(machine.root, "it belongs to another user, or a file in it does", async () => {
    const asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    const dataDir = mkdtempSync(join(tmpdir(), "berth-foreign-"));
    try {
      writeFileSync(join(dataDir, "berth.db"), "", { mode: 0o600 });
      const reason = "this user may not read and write it.";
      expect(await refusal(dataDir, asNobody)).toBe(`berth: The data folder ${dataDir} cannot be used: ${reason} ${CURE}\n`);
      chownSync(dataDir, 65534, 65534);
      expect(await refusal(dataDir, asNobody)).toBe(`berth: ${join(dataDir, "berth.db")} cannot be used: ${reason} ${CURE}\n`);
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  testWith(machine.root, "it is read-only", async () => {
    const dataDir = join(folder, "read-only");
    mkdirSync(dataDir);
    const mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"';
    expect(await refusal(dataDir, ["unshare", "--mount", "sh", "-c", mount, dataDir])).toBe(
      `berth: The data folder ${dataDir} cannot be used: its file system is read-only. ${CURE}\n`,
    );
  });
});
