import { randomBytes } from "node:crypto";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FileEntry } from "@berth/contract/daemon.ts";
import { type FetchOptions, startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => void (daemon = await startTestDaemon()));
afterAll(() => daemon[Symbol.asyncDispose]());

const at = (...parts: string[]) => join(daemon.workspace, ...parts);
const content = (path: string, options?: FetchOptions) => daemon.fetch(`/files/content?path=${encodeURIComponent(path)}`, options);
const write = (path: string, body: string | Buffer, headers = {}) => content(path, { method: "PUT", body, headers });
const post = (path: string, body: object) => daemon.fetch(path, { method: "POST", body });

describe("files", () => {
  test("are written, made with their folders, listed, read and deleted", async () => {
    const written = await write("src/app/main.ts", "let x = 1;\n");
    expect(written.status).toBe(201);
    expect(written.json).toMatchObject({ path: "src/app/main.ts", size: 11 });
    await write("src/zeta", "");
    const { entries } = (await daemon.fetch("/files?path=src")).json;
    expect(entries.map(({ name, type }: FileEntry) => `${type} ${name}`)).toEqual(["folder app", "file zeta"]);
    const read = await content("src/app/main.ts");
    expect(read.text).toBe("let x = 1;\n");
    expect(read.headers).toMatchObject({ etag: written.json.etag, "content-type": "application/octet-stream" });
    expect((await daemon.fetch("/files?path=src", { method: "DELETE" })).status).toBe(204);
    expect(existsSync(at("src"))).toBe(false);
    expect((await daemon.fetch("/files?path=src", { method: "DELETE" })).json.code).toBe("not_found");
  });

  test("are moved, never over another unless asked to", async () => {
    await write("a", "A");
    await write("b", "B");
    expect((await post("/files/move", { from: "a", to: "b" })).status).toBe(409);
    expect(readFileSync(at("b"), "utf8")).toBe("B");
    expect((await post("/files/move", { from: "a", to: "b", overwrite: true })).status).toBe(200);
    expect(readFileSync(at("b"), "utf8")).toBe("A");
    expect((await post("/files/move", { from: "b", to: "new/place/b" })).status).toBe(200);
    expect(readFileSync(at("new/place/b"), "utf8")).toBe("A");
    expect((await post("/files/move", { from: "new", to: "new/inside" })).status).toBe(400);
  });

  test("keep the one who read an old version from overwriting a newer one", async () => {
    const { etag } = (await write("shared", "one")).json;
    const second = await write("shared", "two", { "If-Match": etag });
    expect(second.status).toBe(200);
    expect((await write("shared", "three", { "If-Match": etag })).json.code).toBe("changed");
    expect((await write("shared", "three", { "If-None-Match": "*" })).json.code).toBe("changed");
    expect((await write("absent", "x", { "If-Match": etag })).json.code).toBe("changed");
    expect(readFileSync(at("shared"), "utf8")).toBe("two");
    expect((await content("shared", { headers: { "If-None-Match": second.json.etag } })).status).toBe(304);
  });

  test("stay whole when the writer goes away in the middle", async () => {
    await write("precious", "whole");
    const socket = createConnection(daemon.socketPath);
    socket.write(
      "PUT /files/content?path=precious HTTP/1.1\r\nHost: d\r\nX-Berth-Token: test-token\r\nContent-Length: 1000000\r\n\r\nhalf of it",
    );
    await expect.poll(() => readdirSync(daemon.workspace).some((name) => name.startsWith(".berth-write-"))).toBe(true);
    expect((await daemon.fetch("/files?path=")).json.entries.map((entry: FileEntry) => entry.name)).not.toContainEqual(
      expect.stringContaining(".berth-write-"),
    );
    socket.destroy();
    await expect.poll(() => readdirSync(daemon.workspace).some((name) => name.startsWith(".berth-write-"))).toBe(false);
    expect(readFileSync(at("precious"), "utf8")).toBe("whole");
  });

  test("keep their permissions when they are written", async () => {
    await write("run.sh", "#!/bin/sh\n");
    chmodSync(at("run.sh"), 0o755);
    await write("run.sh", "#!/bin/sh\nexit 0\n");
    expect(statSync(at("run.sh")).mode & 0o777).toBe(0o755);
  });

  test("of 64 MB and of any bytes come through, whole or in part", async () => {
    const bytes = Buffer.concat(Array.from({ length: 64 }, () => randomBytes(1024 * 1024)));
    expect((await write("big.bin", bytes)).json.size).toBe(bytes.length);
    expect((await content("big.bin")).bytes.equals(bytes)).toBe(true);
    const part = await content("big.bin", { headers: { Range: "bytes=1000000-1000099" } });
    expect(part.status).toBe(206);
    expect(part.headers["content-range"]).toBe(`bytes 1000000-1000099/${bytes.length}`);
    expect(part.bytes.equals(bytes.subarray(1_000_000, 1_000_100))).toBe(true);
    expect((await content("big.bin", { headers: { Range: "bytes=-5" } })).bytes.equals(bytes.subarray(-5))).toBe(true);
    expect((await content("big.bin", { headers: { Range: "bytes=999999999-" } })).status).toBe(416);
    expect((await content("big.bin", { method: "HEAD" })).headers["content-length"]).toBe(String(bytes.length));
  });

  test("that are no files are refused instead of waited for", async () => {
    execFileSync("mkfifo", [at("pipe")]);
    expect((await content("pipe")).json.code).toBe("not_a_file");
    mkdirSync(at("folder"));
    expect((await content("folder")).json.code).toBe("is_folder");
    expect((await write("folder", "x")).json.code).toBe("is_folder");
    expect((await write("shared/below", "x")).json.code).toBe("not_found");
    expect((await daemon.fetch("/files", { method: "DELETE" })).status).toBe(400);
  });

  test("come as a zip that holds every file", async () => {
    await write("zip/one.txt", "one");
    await write("zip/deep/zwei.bin", randomBytes(300_000));
    await write("zip/empty", "");
    symlinkSync("/etc/passwd", at("zip/link"));
    const reply = await daemon.fetch("/files/archive?path=zip");
    expect(reply.headers["content-disposition"]).toContain("zip.zip");
    const files = unzipSync(reply.bytes);
    expect(Object.keys(files).toSorted()).toEqual(["deep/zwei.bin", "empty", "one.txt"]);
    expect(Buffer.from(files["deep/zwei.bin"] ?? []).equals(readFileSync(at("zip/deep/zwei.bin")))).toBe(true);
  });

  test("are found by the letters of their path, best first", async () => {
    await write("web/components/file-tree.tsx", "");
    await write("web/free/lift.ts", "");
    await write("node_modules/file-tree/index.js", "");
    const { paths } = (await daemon.fetch("/files/find?q=filetr")).json;
    expect(paths[0]).toBe("web/components/file-tree.tsx");
    expect(paths).not.toContain("node_modules/file-tree/index.js");
  });
});

describe("a path never leaves the workspace", () => {
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

  test.each(escapes)("by %s: read, write, list, move, delete, make, archive, exec", async (path) => {
    const encoded = encodeURIComponent(path);
    const replies = [
      await content(path),
      await write(`${path}`, "overwritten"),
      await daemon.fetch(`/files?path=${encoded}/`),
      await daemon.fetch(`/files/archive?path=${encoded}`),
      await post("/files/move", { from: `${path}/x`, to: "stolen" }),
      await post("/files/folder", { path: `${path}/made` }),
      await post("/exec", { command: "true", cwd: path }),
      await post("/terminals", { cols: 80, rows: 24, cwd: path }),
    ];
    for (const reply of replies) expect([400, 403, 404, 409]).toContain(reply.status);
    expect(readFileSync(secret(), "utf8")).toBe("secret");
    expect(existsSync(join(daemon.home, "made"))).toBe(false);
    expect(existsSync(at("stolen"))).toBe(false);
  });

  test("and a link that is deleted or moved is the link, not what it names", async () => {
    symlinkSync(daemon.home, at("doomed"));
    expect((await post("/files/move", { from: "doomed", to: "doomed2" })).status).toBe(200);
    expect((await daemon.fetch("/files?path=doomed2", { method: "DELETE" })).status).toBe(204);
    expect(readFileSync(secret(), "utf8")).toBe("secret");
  });

  test("but links that stay inside are followed", async () => {
    expect((await content("link-inside/file")).text).toBe("inside");
    await write("link-inside/file", "changed");
    expect(readFileSync(at("inside/file"), "utf8")).toBe("changed");
  });

  test("while somebody swaps a folder for a link as fast as possible", async () => {
    mkdirSync(at("real"));
    writeFileSync(at("real/secret"), "harmless");
    // A request may just have made a folder in the place.
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

  test("whatever the request: always an answer, never a 500, nothing outside touched", async () => {
    const part = fc.oneof(
      fc.constantFrom("..", ".", "", "link-to-folder", "link-up", "inside", "\0", "~", "%2e%2e", "a".repeat(300)),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 5 }).map((parts) => parts.join("/")),
        async (path) => {
          for (const reply of [
            await content(path),
            await daemon.fetch(`/files?path=${encodeURIComponent(path.toWellFormed())}`),
            await write(path, "fuzz"),
          ]) {
            expect(reply.status).toBeLessThan(500);
          }
        },
      ),
      { numRuns: 150 },
    );
    expect(readdirSync(daemon.home).toSorted()).toEqual(["inner", "secret"]);
  });
});

describe("search", () => {
  const search = async (query: string, runner = daemon) =>
    (await runner.fetch(`/search?${query}`)).text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));

  test.each(["ripgrep", "builtin"])("by %s finds text, words, cases and expressions, and tells where", async (engine) => {
    await using other = await startTestDaemon(engine === "builtin" ? { PATH: "/nowhere" } : {});
    mkdirSync(join(other.workspace, "node_modules"), { recursive: true });
    writeFileSync(join(other.workspace, "one.ts"), "const ü = 'Apple';\nconst applesauce = 2;\n");
    writeFileSync(join(other.workspace, "two.md"), "apple\n");
    writeFileSync(join(other.workspace, "binary"), Buffer.from([0, 1, 2, ...Buffer.from("apple")]));

    const all = await search("q=apple", other);
    expect(all.at(-1)).toEqual({ type: "done", matches: 3, files: 2, truncated: false, engine });
    expect(all[0]).toEqual({ type: "match", path: "one.ts", line: 1, column: 12, length: 5, text: "const ü = 'Apple';" });
    expect((await search("q=apple&case=1", other)).at(-1).matches).toBe(2);
    expect((await search("q=apple&word=1", other)).at(-1).matches).toBe(2);
    expect((await search("q=a%5Cw%2Bce&regex=1&include=*.ts", other)).at(-1).matches).toBe(1);
    expect((await search("q=apple&exclude=*.md", other)).at(-1).matches).toBe(2);
    expect((await search("q=apple&limit=1", other)).at(-1)).toMatchObject({ matches: 1, truncated: true });
    expect((await search("q=--files", other)).at(-1).matches).toBe(0);
  });

  test("refuses an empty query and a broken expression", async () => {
    expect((await daemon.fetch("/search?q=")).status).toBe(400);
    expect((await daemon.fetch("/search?q=(&regex=1")).status).toBe(400);
  });
});
