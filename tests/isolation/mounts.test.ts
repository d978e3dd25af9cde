import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, testWith } from "../support/machine.ts";
import { parseMounts } from "../../server/drivers/host/mounts.ts";
import { openSandboxes, readOnlyRoot, runtimeName, missing, type Sandboxes, type Sandbox, userForm } from "./sandboxes.ts";
import { USER } from "../support/user-driver/user-driver.ts";

// A machine may have mounts below the folders that sandboxes share, such as a disk for /usr/local or a network share in a
// template's root.
describeWith(missing, "mounts that sandboxes share", () => {
  let sandboxes: Sandboxes;
  const mounted: string[] = [];

  beforeAll(async () => {
    sandboxes = await openSandboxes();
  });
  afterAll(async () => {
    unmountAll();
    await sandboxes?.[Symbol.asyncDispose]();
  });

  const runAmongMounts = (...command: string[]) => execFileSync("nsenter", [`--mount=/proc/${sandboxes.pid}/ns/mnt`, "--", ...command]);

  // A mount with the most permissive options.
  function mountBelow(path: string): void {
    mkdirSync(inMounts(path), { recursive: true });
    runAmongMounts("mount", "-t", "tmpfs", "-o", "mode=777,size=1m,suid,dev,exec", "berth-test", path);
    mounted.push(path);
    const note = join(inMounts(path), "note");
    writeFileSync(note, "of the operator\n", { mode: 0o666 });
    chmodSync(note, 0o666);
  }

  const inMounts = (path: string) => join(`/proc/${sandboxes.pid}/root`, path);

  function unmountAll(): void {
    for (const path of mounted.splice(0).toReversed()) runAmongMounts("umount", "--lazy", path);
  }

  // Tries to read and write in each place. Returns the mount options, the text that was read and the files that were written.
  async function attempt(sandbox: Sandbox, places: readonly string[]): Promise<{ options: string[]; read: string; wrote: string }> {
    const { output: mountinfo } = await sandbox.sh("cat /proc/self/mountinfo");
    const seen = parseMounts(mountinfo).filter(({ point }) => places.includes(point));
    const { output: read } = await sandbox.sh(`cat ${places.map((place) => `${place}/note`).join(" ")} 2> /dev/null`);
    const files = places.flatMap((place) => [`${place}/note`, `${place}/new`]);
    const { output: wrote } = await sandbox.sh(`for f in ${files.join(" ")}; do (echo x > $f) 2> /dev/null && echo $f; done; true`);
    return { options: seen.flatMap(({ options }) => options), read, wrote };
  }

  // crun hides mounts below a folder, and gVisor shows them as one mount.
  const showsMountsBelow = runtimeName === "runc";

  function expectClosed({ options, read, wrote }: Awaited<ReturnType<typeof attempt>>, count: number): void {
    expect(wrote).toBe("");
    expect(options).not.toContain("rw");
    if (showsMountsBelow) {
      expect(read).toBe("of the operator\n".repeat(count));
      for (const option of ["ro", "nosuid", "nodev"]) expect(options.filter((one) => one === option)).toHaveLength(count);
    }
  }

  test("mounts below a shared folder of the host are read-only at every depth", async () => {
    const sandbox = await sandboxes.create();
    await sandboxes.driver.hibernate(sandbox.id, AbortSignal.timeout(30_000));
    sandboxes.links.forget(sandbox.id);
    const shown = join(sandboxes.dataDir, "egress", sandbox.id);
    mountBelow(join(shown, "below"));
    mountBelow(join(shown, "below/deeper"));
    await sandboxes.driver.resume(sandbox.spec, AbortSignal.timeout(30_000));
    expectClosed(await attempt(sandbox, ["/run/berth-egress/below", "/run/berth-egress/below/deeper"]), 2);
  });

  testWith(readOnlyRoot, "mounts below a template's own root are read-only", async () => {
    const root = mkdtempSync(join(tmpdir(), "berth-root-"));
    try {
      chmodSync(root, 0o755);
      fillRoot(root);
      // A server without root has to create the mount points in it.
      if (userForm) execFileSync("chown", ["-R", String(USER), root]);
      mountBelow(join(root, "srv/share"));
      mountBelow(join(root, "disk"));
      mountBelow(join(root, "disk/deeper"));
      const sandbox = await sandboxes.create({ root });
      expectClosed(await attempt(sandbox, ["/srv/share", "/disk", "/disk/deeper"]), 3);
      const own = await sandbox.sh("(echo x > /etc/mark) 2>/dev/null || cat /etc/mark; (echo x > /new) 2>/dev/null || echo kept");
      expect(own.output).toBe("its own root\nkept\n");
    } finally {
      unmountAll();
      rmSync(root, { recursive: true });
    }
  });
});

// A shell and a few tools with their libraries.
function fillRoot(root: string): void {
  const place = (from: string, to: string) => {
    if (existsSync(join(root, to))) return;
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(from, join(root, to));
  };
  for (const name of ["sh", "cat"]) {
    place(`/bin/${name}`, `/bin/${name}`);
    const listed = execFileSync("ldd", [`/bin/${name}`], { encoding: "utf8" });
    for (const [, path] of listed.matchAll(/(\/\S+) \(0x/g)) place(path!, path!);
  }
  for (const [, path] of execFileSync("ldd", [process.execPath], { encoding: "utf8" }).matchAll(/(\/\S+) \(0x/g)) place(path!, path!);
  mkdirSync(join(root, "etc"));
  writeFileSync(join(root, "etc/mark"), "its own root\n");
}
