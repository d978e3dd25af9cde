import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FetchOptions, startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => void (daemon = await startTestDaemon()));
afterAll(() => daemon[Symbol.asyncDispose]());

const at = (...parts: string[]) => join(daemon.workspace, ...parts);
const content = (path: string, options?: FetchOptions) => daemon.fetch(`/files/content?path=${encodeURIComponent(path)}`, options);
const write = (path: string, body: string) => content(path, { method: "PUT", body });
const post = (path: string, body: object) => daemon.fetch(path, { method: "POST", body });

describe("the workspace", () => {
  const secret = () => join(daemon.home, "secret");
  beforeAll(() => {
    mkdirSync(join(daemon.home, "inner"), { recursive: true });
    writeFileSync(secret(), "secret");
    symlinkSync(secret(), at("link-to-file"));
    symlinkSync(daemon.home, at("link-to-folder"));
    symlinkSync("..", at("link-up"));
    mkdirSync(at("inside"));
    writeFileSync(at("inside/file"), "inside");
    symlinkSync("inside", at("link-inside"));
  });

  const escapes = [
    "../home/secret",
    "a/../../home/secret",
    "/etc/passwd",
    "link-to-file",
    "link-to-folder/secret",
    "link-up/home/secret",
    "..",
    "inside/../../x",
    "./../x",
    "..%2fx/../..",
  ];

  test.each(escapes)("cannot be left through %s by any operation", async (path) => {
    const encoded = encodeURIComponent(path);
    const responses = [
      await content(path),
      await write(`${path}`, "overwritten"),
      await daemon.fetch(`/files?path=${encoded}/`),
      await daemon.fetch(`/files/archive?path=${encoded}`),
      await post("/files/move", { from: `${path}/x`, to: "stolen" }),
      await post("/files/copy", { from: `${path}/x`, to: "stolen" }),
      await post("/files/copy", { from: "inside", to: `${path}/made` }),
      await post("/files/folder", { path: `${path}/made` }),
      await post("/exec", { command: "true", cwd: path }),
      await post("/terminals", { cols: 80, rows: 24, cwd: path }),
    ];
    for (const response of responses) expect([400, 403, 404, 409]).toContain(response.status);
    expect(readFileSync(secret(), "utf8")).toBe("secret");
    expect(existsSync(join(daemon.home, "made"))).toBe(false);
    expect(existsSync(at("stolen"))).toBe(false);
  });

  test("moves and deletes a symbolic link itself, not its target", async () => {
    symlinkSync(daemon.home, at("doomed"));
    expect((await post("/files/move", { from: "doomed", to: "doomed2" })).status).toBe(200);
    expect((await daemon.fetch("/files?path=doomed2", { method: "DELETE" })).status).toBe(204);
    expect(readFileSync(secret(), "utf8")).toBe("secret");
  });

  test("follows symbolic links that stay inside", async () => {
    expect((await content("link-inside/file")).text).toBe("inside");
    await write("link-inside/file", "changed");
    expect(readFileSync(at("inside/file"), "utf8")).toBe("changed");
  });

  test("cannot be left while another process keeps replacing a folder with a link", async () => {
    mkdirSync(at("real"));
    writeFileSync(at("real/secret"), "harmless");
    // A step fails if a request has just created a folder at that path.
    const attempt = (step: () => void) => {
      try {
        step();
      } catch {}
    };
    let swapping = true;
    const swapper = (async () => {
      while (swapping) {
        attempt(() => renameSync(at("real"), at("away")));
        attempt(() => symlinkSync(daemon.home, at("real")));
        await new Promise((resolve) => setImmediate(resolve));
        attempt(() => rmSync(at("real"), { recursive: true, force: true }));
        attempt(() => renameSync(at("away"), at("real")));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (let round = 0; round < 60; round++) {
      const [read] = await Promise.all([
        content("real/secret"),
        write("real/planted", "x"),
        post("/files/folder", { path: "real/made/deep" }),
      ]);
      expect(["harmless", undefined]).toContain(read.status === 200 ? read.text : undefined);
    }
    swapping = false;
    await swapper;
    expect(readFileSync(secret(), "utf8")).toBe("secret");
    expect(existsSync(join(daemon.home, "planted"))).toBe(false);
    expect(existsSync(join(daemon.home, "made"))).toBe(false);
  });

  test("answers arbitrary paths below 500 and changes nothing outside", async () => {
    const part = fc.oneof(
      fc.constantFrom("..", ".", "", "link-to-folder", "link-up", "inside", "\0", "~", "%2e%2e", "a".repeat(300)),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 5 }).map((parts) => parts.join("/")),
        async (path) => {
          for (const response of [
            await content(path),
            await daemon.fetch(`/files?path=${encodeURIComponent(path.toWellFormed())}`),
            await write(path, "fuzz"),
          ]) {
            expect(response.status).toBeLessThan(500);
          }
        },
      ),
      { numRuns: 150 },
    );
    expect(readdirSync(daemon.home).toSorted()).toEqual(["inner", "secret"]);
  });
});
