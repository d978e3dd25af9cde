import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { machine, testWith } from "../support/machine.ts";
import { prepareBerth } from "../support/servers/berth.ts";
import { cliEnv, cliPath } from "../support/servers/cli.ts";
import { missingUserDriver } from "../support/user-driver/user-driver.ts";
import { daemonRuntime } from "../support/runtime.ts";

const USER = 65_534;
const AS_USER = ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"];

// A clone in root's home folder, for instance, is closed to others.
function missingAccess(): string | undefined {
  if (machine.root !== undefined) return machine.root;
  const [setpriv, ...args] = AS_USER;
  return spawnSync(setpriv!, [...args, "test", "-r", cliPath]).status === 0 ? undefined : "needs a clone that other users can read";
}

async function prepareAsUser(driver: string) {
  await daemonRuntime();
  const dataDir = mkdtempSync(join(tmpdir(), "berth-user-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const berth = await prepareBerth({ BERTH_DATA_DIR: dataDir, BERTH_DRIVER: driver }, { supervisor: AS_USER });
  for (const name of [".", ...readdirSync(dataDir)]) chownSync(join(dataDir, name), USER, USER);
  return { berth, dataDir };
}

testWith(missingAccess(), "an ordinary user runs a server, whose files are its own", async () => {
  const { berth: prepared, dataDir } = await prepareAsUser("process");
  await using berth = prepared;
  await berth.start();
  const { sandboxId } = await berth.api.create({ autoStartAgent: false });
  expect((await berth.api.exec(sandboxId, "id -u")).stdout).toBe(`${USER}\n`);
  expect(statSync(join(dataDir, "master-key"))).toMatchObject({ uid: USER, mode: 0o100600 });
});

testWith([missingAccess(), missingUserDriver("one-id")], "an ordinary user has isolated sandboxes, and removes all of them", async () => {
  const { berth: prepared, dataDir } = await prepareAsUser("oci");
  await using berth = prepared;
  await berth.start();
  const { sandboxId } = await berth.api.create({ autoStartAgent: false });
  const { stdout } = await berth.api.exec(sandboxId, `whoami; ls ${dataDir} /proc/${process.pid} 2> /dev/null; cat /proc/1/cmdline`);
  expect(stdout).toBe("user\n/opt/berth/lib/sh\0/opt/berth/init.sh\0");
  const [setpriv, ...args] = AS_USER;
  const down = spawnSync(setpriv!, [...args, process.execPath, cliPath, "down", "--delete", "--yes"], {
    env: cliEnv({ env: berth.env, dataDir }),
  });
  expect([down.status, down.stderr.toString(), existsSync(dataDir)]).toEqual([0, "", false]);
});
