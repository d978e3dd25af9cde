import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSandboxes, type Sandbox, type Sandboxes } from "../../../tests/isolation/sandboxes.ts";
import { describeWith, machine } from "../../../tests/support/machine.ts";
import type { Image } from "../../../tests/support/registry/image.ts";
import { distrolessImage, muslImage } from "../../../tests/support/registry/images.ts";

const needs = [
  await machine.oci(),
  machine.root,
  machine.file("/usr/share/doc/busybox-static", "busybox-static"),
  machine.file("/lib/ld-musl-*.so.1", "musl"),
];

// The daemon brings its own libraries and its own shell, so it works in a root that has none.
describeWith(needs, "a root without glibc", () => {
  const roots = mkdtempSync(join(tmpdir(), "berth-bare-roots-"));
  chmodSync(roots, 0o755);
  let sandboxes: Sandboxes;

  beforeAll(async () => {
    sandboxes = await openSandboxes();
  });
  afterAll(async () => {
    await sandboxes[Symbol.asyncDispose]();
    rmSync(roots, { recursive: true });
  });

  const create = (name: string, image: Image) => sandboxes.create({ root: unpack(join(roots, name), image), diskMb: 64 });

  async function call({ id }: Sandbox, method: string, path: string, body?: object) {
    const headers = { "content-type": "application/json" };
    const response = await sandboxes.links.request(id, { method, path, headers, ...(body && { body: JSON.stringify(body) }) });
    return { status: response.status, text: await text(response.body) };
  }
  const run = async (sandbox: Sandbox, command: string | string[]) => (await call(sandbox, "POST", "/exec?format=text", { command })).text;

  test("with musl has files, commands, and terminals with its own shell; its programs do not see our libraries", async () => {
    const musl = await create("musl", muslImage());
    expect(await run(musl, "echo $SHELL; env | grep -c ^LD_; cat /etc/os-release | head -n 1; ls -d /opt/berth/lib/sh")).toBe(
      "/bin/sh\n0\nID=test\n/opt/berth/lib/sh\n",
    );
    // Our Node works there too, and knows its own path.
    expect(await run(musl, ["/opt/berth/bin/node", "-p", "process.execPath + ' ' + process.report.getReport().sharedObjects"])).toMatch(
      /^\/opt\/berth\/bin\/node linux-vdso\S+,\/opt\/berth\/lib\/\S+\n$/,
    );
    expect(await call(musl, "POST", "/terminals", {})).toMatchObject({ status: 201 });
    await expect.poll(() => run(musl, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"), { timeout: 20_000 }).toContain("/bin/sh -i");
    const git = await call(musl, "POST", "/git/init", {});
    expect(JSON.parse(git.text)).toMatchObject({ code: "git_unavailable", error: "Git is not installed in this sandbox" });
  });

  test("and without a shell runs programs, and says what is missing", async () => {
    const distroless = await create("distroless", distrolessImage());
    // The pool does this with a sandbox that waits for its session.
    await sandboxes.links.prepare(distroless.id, { env: {}, agent: null, autoStartAgent: false });
    expect(await run(distroless, ["/usr/bin/date", "-d", "@0", "+%Y"])).toBe("1970\n");
    for (const [path, body] of [
      ["/exec", { command: "date" }],
      ["/processes", { command: "date" }],
      ["/terminals", {}],
    ] as const) {
      const refused = await call(distroless, "POST", path, body);
      expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
        409,
        { code: "shell_unavailable", error: expect.stringContaining("image has no shell") as string },
      ]);
    }
    expect(await run(distroless, ["sh", "-c", "true"])).toBe("Command not found: sh\n");
    expect(await call(distroless, "POST", "/terminals", { command: ["/usr/bin/date"] })).toMatchObject({ status: 201 });
    // A daemon that starts again restores the terminal, although there is no shell for it.
    await sandboxes.links.stop(distroless.id);
    await sandboxes.driver.hibernate(distroless.id, AbortSignal.timeout(30_000));
    await sandboxes.driver.resume(distroless.spec, AbortSignal.timeout(30_000));
    expect((await call(distroless, "GET", "/terminals")).text).toContain('"title"');
  });
});

function unpack(folder: string, { layers }: Image): string {
  mkdirSync(folder, { mode: 0o755 });
  for (const { content } of layers) execFileSync("tar", ["-xzf", "-", "-C", folder, "--no-same-owner"], { input: content as Buffer });
  return folder;
}
