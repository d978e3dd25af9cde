import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { machine, testWith } from "../support/machine.ts";
import { prepareBerth } from "../support/servers/berth.ts";
import { cliPath } from "../support/servers/cli.ts";
import { daemonRuntime } from "../support/runtime.ts";

const USER = 65_534;
const AS_USER = ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"];

// A clone in root's home folder, for instance, is closed to others.
function missingAccess(): string | undefined {
  if (machine.root !== undefined) return machine.root;
  const [setpriv, ...args] = AS_USER;
  return spawnSync(setpriv!, [...args, "test", "-r", cliPath]).status === 0 ? undefined : "needs a clone that other users can read";
}

testWith(missingAccess(), "an ordinary user runs a server, whose files are its own", async () => {
  await daemonRuntime();
  const dataDir = mkdtempSync(join(tmpdir(), "berth-user-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  await using berth = await prepareBerth({ BERTH_DATA_DIR: dataDir, BERTH_DRIVER: "process" }, { supervisor: AS_USER });
  for (const name of [".", ...readdirSync(dataDir)]) chownSync(join(dataDir, name), USER, USER);
  await berth.start();
  const { sandboxId } = await berth.api.create({ autoStartAgent: false });
  expect((await berth.api.exec(sandboxId, "id -u")).stdout).toBe(`${USER}\n`);
  expect(statSync(join(dataDir, "master-key"))).toMatchObject({ uid: USER, mode: 0o100600 });
});
