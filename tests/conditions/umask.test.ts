import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { machine, testWith } from "../support/machine.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { daemonRuntime } from "../support/runtime.ts";

const withMask = (mask: string) => ["sh", "-c", `umask ${mask}; exec "$@"`, "sh"];

const modeOf = (path: string) => statSync(path).mode & 0o777;

// Any answer shows that the sandbox reaches its egress proxy.
const ASK_PROXY = `/opt/berth/bin/node -e '
  require("http").get({ socketPath: "/run/berth-egress/proxy.sock", path: "http://no.invalid/" }, (answer) => console.log("answered"))
    .on("error", (error) => console.log(error.code))'`;

async function expectWorkingSandbox({ api }: Berth): Promise<void> {
  const { sandboxId } = await api.create({ autoStartAgent: false });
  expect((await api.exec(sandboxId, ASK_PROXY)).stdout).toBe("answered\n");
}

testWith(
  await machine.oci(),
  "a server works under the masks 077 and 000, in a folder with spaces and a long path, and closes it to others",
  async () => {
    await daemonRuntime();
    const parent = mkdtempSync(join(tmpdir(), "berth umask "));
    onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
    const dataDir = join(parent, "with spaces and 'quotes'", "x".repeat(120));
    await mkdir(dataDir, { recursive: true });
    {
      await using berth = await startBerth({ BERTH_DATA_DIR: dataDir, BERTH_DRIVER: "oci" }, { supervisor: withMask("077") });
      await expectWorkingSandbox(berth);
      expect(modeOf(dataDir)).toBe(0o750);
    }
    await mkdir(dataDir, { recursive: true });
    await using berth = await startBerth({ BERTH_DATA_DIR: dataDir, BERTH_DRIVER: "oci" }, { supervisor: withMask("000") });
    await expectWorkingSandbox(berth);
    expect(modeOf(dataDir)).toBe(0o750);
    const openToOthers = readdirSync(dataDir, { recursive: true, encoding: "utf8" }).filter((name) => {
      const stat = statSync(join(dataDir, name), { throwIfNoEntry: false });
      return stat !== undefined && (stat.mode & 0o002) !== 0 && !name.endsWith("proxy.sock");
    });
    expect(openToOthers).toEqual([]);
    for (const name of ["master-key", "berth.db", "host-name"]) expect([name, modeOf(join(dataDir, name))]).toEqual([name, 0o600]);
  },
);

test("a daemon that is built under the mask 077 can be read by the users of sandboxes", () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-build-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const out = join(folder, "dist");
  const script = `await (await import(${JSON.stringify(join(import.meta.dirname, "../../daemon/build.ts"))})).buildDaemon(${JSON.stringify(out)})`;
  const [shell, ...args] = withMask("077");
  execFileSync(shell!, [...args, process.execPath, "--input-type=module", "-e", script]);
  const paths = [out, ...readdirSync(out, { recursive: true, encoding: "utf8" }).map((name) => join(out, name))];
  expect(paths.filter((path) => (modeOf(path) & 0o055) !== (modeOf(path) & 0o100 ? 0o055 : 0o044))).toEqual([]);
  expect(modeOf(join(out, "bin/node"))).toBe(0o755);
});
