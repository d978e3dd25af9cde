import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FileEntry } from "@berth/contract/daemon.ts";
import type { FileDetails, FileTree, Watcher, WatcherEvents } from "@berth/contract/daemon/files.ts";
import { ROLE_HEADER } from "@berth/contract/workspace/visitor.ts";
import { machine, testWith } from "../../tests/support/machine.ts";
import { type FetchOptions, startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => void (daemon = await startTestDaemon()));
afterAll(() => daemon[Symbol.asyncDispose]());

const at = (...parts: string[]) => join(daemon.workspace, ...parts);
const content = (path: string, options?: FetchOptions) => daemon.fetch(`/files/content?path=${encodeURIComponent(path)}`, options);
const write = (path: string, body: string | Buffer, headers = {}) => content(path, { method: "PUT", body, headers });
const post = (path: string, body: object) => daemon.fetch(path, { method: "POST", body });

describe("files", () => {
  test("are written with their parent folders, listed, read and deleted", async () => {
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

  test("are listed in natural order, and a link names what it leads to", async () => {
    for (const path of ["listed/File10", "listed/file9", "listed/real/inside"]) await write(path, "");
    symlinkSync("real", at("listed/to-folder"));
    symlinkSync("file9", at("listed/to-file"));
    symlinkSync("absent", at("listed/broken"));
    symlinkSync("/etc", at("listed/outside"));
    const { entries } = (await daemon.fetch("/files?path=listed")).json;
    expect(entries.map(({ name, target }: FileEntry) => (target ? `${name}: ${target}` : name))).toEqual([
      "real",
      "to-folder: folder",
      "broken",
      "file9",
      "File10",
      "outside",
      "to-file: file",
    ]);
    const names = entries.map(({ name, type, target }: FileEntry) => (type === "file" ? name : { name, type, ...(target && { target }) }));
    expect((await daemon.fetch("/files?path=listed&details=names")).json).toEqual({ path: "listed", entries: names, truncated: false });
    expect((await daemon.fetch("/files?path=listed/to-folder")).json.entries).toMatchObject([{ name: "inside" }]);
  });

  test("are moved, and replace another file only with `overwrite`", async () => {
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

  testWith(machine.linux, "are moved to another disk as a whole, and replace no folder there", async () => {
    const elsewhere = mkdtempSync("/dev/shm/berth-moved-");
    try {
      mkdirSync(join(elsewhere, "taken/full"), { recursive: true });
      await write("moving/deep/a", "A");
      symlinkSync("deep", at("moving/link"));
      const moved = (to: string, overwrite = false) =>
        post("/files/move?base=home", { from: at("moving"), to: join(elsewhere, to), overwrite });
      expect((await moved("taken", true)).status).toBe(409);
      expect(existsSync(at("moving/deep/a"))).toBe(true);
      expect((await moved("arrived")).status).toBe(200);
      expect(readFileSync(join(elsewhere, "arrived/link/a"), "utf8")).toBe("A");
      expect(existsSync(at("moving"))).toBe(false);
      expect(readdirSync(elsewhere).toSorted()).toEqual(["arrived", "taken"]);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  test("are copied with everything in them, but over nothing and not into themselves", async () => {
    await write("origin/deep/a", "A");
    symlinkSync("deep", at("origin/link"));
    expect((await post("/files/copy", { from: "origin", to: "copies/one" })).status).toBe(201);
    expect(readFileSync(at("copies/one/deep/a"), "utf8")).toBe("A");
    expect(readlinkSync(at("copies/one/link"))).toBe("deep");
    expect((await post("/files/copy", { from: "origin", to: "copies/one" })).json.code).toBe("exists");
    expect((await post("/files/copy", { from: "absent", to: "copies/two" })).json.code).toBe("not_found");
    expect((await post("/files/copy", { from: "origin", to: "origin/inside" })).status).toBe(400);
    symlinkSync("origin", at("way-back"));
    expect((await post("/files/copy", { from: "origin", to: "way-back/new/inside" })).status).toBe(400);
    expect((await post("/files/copy", { from: "origin/deep/a", to: "../outside" })).status).toBe(403);
    expect(readdirSync(at("origin"))).toEqual(["deep", "link"]);
  });

  test("are not overwritten by a writer whose ETag is out of date", async () => {
    const { etag } = (await write("shared", "one")).json;
    const second = await write("shared", "two", { "If-Match": etag });
    expect(second.status).toBe(200);
    expect((await write("shared", "three", { "If-Match": etag })).json.code).toBe("changed");
    expect((await write("shared", "three", { "If-None-Match": "*" })).json.code).toBe("changed");
    expect((await write("shared", "three", { "If-None-Match": `"x", ${second.json.etag}` })).json.code).toBe("changed");
    expect((await write("absent", "x", { "If-Match": etag })).json.code).toBe("changed");
    expect(readFileSync(at("shared"), "utf8")).toBe("two");
    expect((await content("shared", { headers: { "If-None-Match": second.json.etag } })).status).toBe(304);
  });

  test("stay unchanged when the writer disconnects during the upload", async () => {
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

  test("are unpacked on request, and stay unchanged if the body is no gzip or ends early", async () => {
    const put = (body: string | Buffer, encoding = "gzip") =>
      daemon.fetch(`/files/content?path=packed&encoding=${encoding}`, { method: "PUT", body });
    const packed = gzipSync("unpacked ".repeat(10_000));
    expect((await put(packed)).json).toMatchObject({ size: 90_000 });
    const bad = { status: 400, json: { code: "bad_request" } };
    for (const body of ["no gzip", packed.subarray(0, 40), Buffer.concat([packed.subarray(0, 60), packed])])
      expect(await put(body)).toMatchObject(bad);
    expect(await put(packed, "br")).toMatchObject(bad);
    expect(readFileSync(at("packed"), "utf8")).toBe("unpacked ".repeat(10_000));
    expect(readdirSync(daemon.workspace).filter((name) => name.startsWith(".berth-write-"))).toEqual([]);
  });

  test("keep their permissions when they are overwritten", async () => {
    await write("run.sh", "#!/bin/sh\n");
    chmodSync(at("run.sh"), 0o755);
    await write("run.sh", "#!/bin/sh\nexit 0\n");
    expect(statSync(at("run.sh")).mode & 0o777).toBe(0o755);
  });

  test("of 64 MB of arbitrary bytes are transferred intact, whole or by range", async () => {
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

  test("that are not regular files are refused without blocking", async () => {
    execFileSync("mkfifo", [at("pipe")]);
    expect((await content("pipe")).json.code).toBe("not_a_file");
    mkdirSync(at("folder"));
    expect((await content("folder")).json.code).toBe("is_folder");
    expect((await write("folder", "x")).json.code).toBe("is_folder");
    expect((await write("shared/below", "x")).json.code).toBe("not_found");
    expect((await daemon.fetch("/files", { method: "DELETE" })).status).toBe(400);
  });

  test("are downloaded as a zip with every regular file", async () => {
    await write("zip/one.txt", "one");
    await write("zip/deep/zwei.bin", randomBytes(300_000));
    await write("zip/empty", "");
    symlinkSync("/etc/passwd", at("zip/link"));
    const response = await daemon.fetch("/files/archive?path=zip");
    expect(response.headers["content-disposition"]).toContain("zip.zip");
    const files = unzipSync(response.bytes);
    expect(Object.keys(files).toSorted()).toEqual(["deep/zwei.bin", "empty", "one.txt"]);
    expect(Buffer.from(files["deep/zwei.bin"] ?? []).equals(readFileSync(at("zip/deep/zwei.bin")))).toBe(true);
  });

  test("are found by letters of their path, best match first", async () => {
    await write("web/components/file-tree.tsx", "");
    await write("web/free/lift.ts", "");
    await write("node_modules/file-tree/index.js", "");
    const { paths } = (await daemon.fetch("/files/find?q=filetr")).json;
    expect(paths[0]).toBe("web/components/file-tree.tsx");
    expect(paths).not.toContain("node_modules/file-tree/index.js");
  });
});

describe("files of the whole sandbox", () => {
  const home = (path: string, query = "") => `path=${encodeURIComponent(path)}&base=home${query}`;
  const stat = async (path: string, query = "") => (await daemon.fetch<FileDetails>(`/files/stat?${home(path, query)}`)).json;
  const put = (path: string, body: string, query = "") => daemon.fetch(`/files/content?${home(path, query)}`, { method: "PUT", body });

  test("are named from the home or from the root, and only on request", async () => {
    const written = await put("notes/../notes/a.txt", "one");
    expect(written).toMatchObject({ status: 201, json: { path: join(daemon.home, "notes/a.txt"), size: 3 } });
    expect((await daemon.fetch(`/files/content?${home(join(daemon.home, "notes/a.txt"))}`)).text).toBe("one");
    expect((await daemon.fetch(`/files/content?${home("~/notes/a.txt")}`)).text).toBe("one");
    expect((await daemon.fetch("/files/content?path=/etc/hostname")).json.code).toBe("path_outside");
    expect((await daemon.fetch("/files?path=x&base=elsewhere")).json.code).toBe("bad_request");
    const asViewer = await daemon.fetch(`/files/content?${home("notes/a.txt")}`, { headers: { [ROLE_HEADER]: "viewer" } });
    expect(asViewer.json.code).toBe("view_only");
    expect((await post("/files/move?base=home", { from: "notes/a.txt", to: "moved/b.txt" })).status).toBe(200);
    expect(existsSync(join(daemon.home, "moved/b.txt"))).toBe(true);
  });

  test("are described with owner, mode and target, one by one and as a tree", async () => {
    await put("tree/b/inner.txt", "12345");
    await put("tree/a.txt", "");
    symlinkSync("a.txt", join(daemon.home, "tree/to-a"));
    chmodSync(join(daemon.home, "tree/a.txt"), 0o640);
    const { uid } = statSync(daemon.home);
    const owner = execFileSync("id", ["-nu", String(uid)], { encoding: "utf8" }).trim();
    expect(await stat("tree/a.txt")).toMatchObject({ name: "a.txt", type: "file", size: 0, mode: 0o640, owner });
    expect(await stat("tree/to-a")).toMatchObject({ name: "to-a", type: "file", target: join(daemon.home, "tree/a.txt") });
    const tree = async (depth: number) => (await daemon.fetch<FileTree>(`/files/tree?${home("tree", `&depth=${depth}`)}`)).json;
    expect((await tree(1)).entries.map(({ name, type }) => `${type} ${name}`)).toEqual(["file a.txt", "folder b", "file to-a"]);
    expect((await tree(2)).entries.map(({ path }) => path.slice(daemon.home.length))).toEqual([
      "/tree/a.txt",
      "/tree/b",
      "/tree/b/inner.txt",
      "/tree/to-a",
    ]);
    expect((await daemon.fetch(`/files/stat?${home("absent")}`)).json.code).toBe("not_found");
    expect((await daemon.fetch(`/files/tree?${home("tree/a.txt")}`)).json.code).toBe("bad_request");
    const folder = (headers = {}) => daemon.fetch("/files/folder?base=home", { method: "POST", body: { path: "tree/b" }, headers });
    expect((await folder()).status).toBe(201);
    expect((await folder({ "if-none-match": "*" })).json.code).toBe("changed");
  });

  test("have extended attributes, which a new content replaces", async () => {
    const wanted = encodeURIComponent(JSON.stringify({ "user.test.author": "me" }));
    await put("attributes.txt", "one", `&attributes=${wanted}`);
    expect((await stat("attributes.txt", "&attributes=user.test.")).attributes).toEqual({ author: "me" });
    expect((await stat("attributes.txt")).attributes).toBeUndefined();
    await put("attributes.txt", "two");
    expect((await stat("attributes.txt", "&attributes=user.test.")).attributes).toEqual({});
    expect((await put("attributes.txt", "x", "&attributes=%7B%22trusted.a%22:%221%22%7D")).json.code).toBe("bad_request");
  });

  test("are watched by kind of change, as a stream and for callers that poll", async () => {
    await put("watched/old.txt", "1");
    const stream = await daemon.open(`/files/watch?${home("watched", "&recursive=true")}`);
    const { id } = (await daemon.fetch<Watcher>(`/files/watchers?${home("watched", "&recursive=true")}`, { method: "POST" })).json;
    const seen: string[] = [];
    const untilSeen = (line: string) => expect.poll(() => seen, { timeout: 5000 }).toContain(line);
    createInterface({ input: stream }).on("line", (line) => seen.push(Object.values(JSON.parse(line) as object).join(" ")));
    await untilSeen("start");
    await put("watched/new/inner.txt", "2");
    await untilSeen("write new/inner.txt");
    expect(seen).toEqual(expect.arrayContaining(["create new", "create new/inner.txt"]));
    await put("watched/old.txt", "22");
    await untilSeen("write old.txt");
    chmodSync(join(daemon.home, "watched/old.txt"), 0o600);
    await untilSeen("chmod old.txt");
    await post("/files/move?base=home", { from: "watched/old.txt", to: "watched/renamed.txt" });
    await untilSeen("create renamed.txt");
    expect(seen).toContain("rename old.txt");
    await daemon.fetch(`/files?${home("watched/renamed.txt")}`, { method: "DELETE" });
    await untilSeen("remove renamed.txt");
    stream.destroy();
    const polled = (await daemon.fetch<WatcherEvents>(`/files/watchers/${id}`)).json.events.map(({ type, path }) => `${type} ${path}`);
    expect(polled).toEqual(expect.arrayContaining(["write new/inner.txt", "write old.txt", "rename old.txt", "remove renamed.txt"]));
    expect((await daemon.fetch<WatcherEvents>(`/files/watchers/${id}`)).json.events).toEqual([]);
    expect((await daemon.fetch(`/files/watchers/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await daemon.fetch(`/files/watchers/${id}`)).json.code).toBe("not_found");
    expect((await daemon.fetch(`/files/watch?${home("attributes.txt")}`)).json.code).toMatch(/bad_request|not_found/);
  });
});
