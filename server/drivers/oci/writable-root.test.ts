import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId, type SandboxId } from "@berth/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../../../tests/support/machine.ts";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import type { Driver, SandboxSpec } from "../driver.ts";
import { exec } from "../testing/driver.suite.ts";
import { offersWritableRoots } from "./filesystem/writable-root.ts";
import { createOciDriver } from "./oci.ts";
import { probeOci } from "./probe.ts";
import { makeSmallRoot } from "./testing/small-root.ts";
import { findRemainingResources } from "./testing/remaining-resources.ts";

const probe = await probeOci();
const offered = probe.usable && offersWritableRoots({ ...probe, asRoot: process.getuid?.() === 0 });
const missing = offered ? undefined : probe.usable ? "needs root, loop devices, Linux 5.19 and runc or crun" : probe.reason;
const token = "a token";
const tokenHash = createHash("sha256").update(token).digest("hex");
const signal = () => AbortSignal.timeout(60_000);

// The path to the daemon's socket, and the other mount points, must stay as they are.
const ATTEMPTS = `
const attempts = [
  ["chown", "/etc/mark", 65536, 65536],
  ["link", "/proc/1/environ", "/environ"],
  ...["/run", "/run/berth", "/home", "/opt", "/workspace", "/data"].map((path) => ["rename", path, path + ".moved"]),
  ["rmdir", "/tmp"],
];
const outcome = ([call, ...args]) => {
  try {
    fs[call + "Sync"](...args);
    return call;
  } catch (error) {
    return call + " " + error.code;
  }
};
console.log(attempts.map(outcome).join(", "));`.replaceAll("\n", " ");

describeWith(missing, "a template with a writable root", () => {
  let root: string;
  let dataDir: string;
  let driver: Driver;
  const made: SandboxId[] = [];

  beforeAll(async () => {
    if (!probe.usable) throw new Error(probe.reason);
    const programs = ["cat", "chmod", "chown", "dd", "id", "ln", "ls", "mkdir", "mknod", "mv", "rm", "setpriv", "stat", "touch"];
    root = makeSmallRoot(programs);
    mkdirSync(join(root, "srv/kept"), { recursive: true });
    writeFileSync(join(root, "srv/kept/note"), "of the template\n");
    dataDir = mkdtempSync(join(tmpdir(), "berth-writable-"));
    const { runtime, boundDisks } = probe;
    driver = createOciDriver({ dataDir, runtimeDir: await daemonRuntime(), log: silentLog, runtime, boundDisks });
  });
  afterAll(async () => {
    for (const id of made) await driver.destroy(id, signal());
    await driver[Symbol.asyncDispose]();
    for (const folder of [root, dataDir]) rmSync(folder, { recursive: true, force: true });
  });

  const create = async (changes: Partial<SandboxSpec> = {}): Promise<SandboxSpec> => {
    const template = { ...DEFAULT_TEMPLATE, root, writableRoot: true, diskMb: 64 };
    const spec = { id: newId("sbx", Date.now()), tokenHash, template, ...changes };
    made.push(spec.id);
    await driver.create(spec, signal());
    return spec;
  };
  const sh = (spec: SandboxSpec, command: string) => exec(driver, spec.id, command, token);

  test("keeps what root has changed, with its owners, through a hibernation and in forks, and never shows it to another root", async () => {
    const before = readdirSync(root);
    const spec = await create();
    const change = [
      "id -u; echo new > /etc/mark; chown 33:44 /etc/mark; mv /srv/kept /srv/moved; rm /bin/touch; mkdir /app",
      "echo w > file; chown 33:33 file; echo h > ~/own; chown 33:33 .",
    ];
    expect(await sh(spec, change.join("; "))).toBe("0\n");
    const look = "cat /etc/mark /srv/moved/note; ls -d /app /bin/touch /srv/kept 2>/dev/null; stat -c %u:%g /etc/mark file ~/own";
    const seen = "new\nof the template\n/app\n33:44\n33:33\n0:0\n";
    await driver.hibernate(spec.id, signal());
    await driver.resume(spec, signal());
    expect(await sh(spec, look)).toBe(seen);

    const snapshot = newId("snp", Date.now());
    await driver.takeSnapshot(spec.id, snapshot, signal());
    const fork = await create({ snapshot });
    expect(await sh(fork, look)).toBe(seen);
    expect(await sh(fork, "echo of the fork > ~/own; echo x > new; cat ~/own")).toBe("of the fork\n");
    expect(await sh(spec, "cat ~/own")).toBe("h\n");

    const readOnly = await create({ snapshot, template: { ...spec.template, writableRoot: false } });
    expect(await sh(readOnly, "cat /etc/mark; (echo x > /etc/mark) 2>/dev/null || stat -c %u:%g file ~/own")).toBe(
      "its own root\n1000:1000\n1000:1000\n",
    );
    await driver.deleteSnapshot(snapshot, signal());
    expect(readFileSync(join(root, "etc/mark"), "utf8")).toBe("its own root\n");
    expect(readdirSync(root)).toEqual(expect.arrayContaining(before));
    expect(readdirSync(root)).not.toContain("app");
  });

  test("gives root no rights beyond its own files and users", async () => {
    const spec = await create();
    const devices = "for numbers in '7 0' '1 3' '0 0'; do mknod /device c $numbers 2>/dev/null || echo refused; done";
    expect(await sh(spec, devices)).toBe("refused\n".repeat(3));
    expect(await sh(spec, `/opt/berth/bin/node -e '${ATTEMPTS}'`)).toBe(
      "chown EINVAL, link EXDEV, rename EBUSY, rename EBUSY, rename EBUSY, rename EBUSY, rename EBUSY, rename EBUSY, rmdir EBUSY\n",
    );
    // A program that belongs to root does not make another user root.
    const raise = "chmod u+s /bin/id; setpriv --reuid 33 --regid 33 --clear-groups /bin/id -u";
    expect(await sh(spec, raise)).toBe("33\n");
    const status = "while read -r line; do case $line in NoNewPrivs*|CapBnd*) echo $line;; esac; done < /proc/self/status";
    expect(await sh(spec, status)).toBe("CapBnd: 00000000800000fb\nNoNewPrivs: 1\n");
  });

  test("has the size of the disk, and starts even if that is full", async () => {
    const spec = await create();
    expect(await sh(spec, "dd if=/dev/zero of=/var-full bs=1M 2>/dev/null || echo full")).toBe("full\n");
    expect(await sh(spec, "i=0; while echo > /workspace/$i; do i=$((i+1)); done 2>/dev/null; echo full")).toBe("full\n");
    await driver.hibernate(spec.id, signal());
    await driver.resume(spec, signal());
    expect(await sh(spec, "rm /var-full && echo again > /etc/mark && cat /etc/mark")).toBe("again\n");
  });

  test("leaves nothing on the machine when its sandboxes are destroyed", async () => {
    for (const id of made) await driver.destroy(id, signal());
    // The second call waits until the files are deleted.
    for (const id of made) await driver.destroy(id, signal());
    expect(made.flatMap((id) => findRemainingResources(dataDir, id))).toEqual([]);
  });
});
