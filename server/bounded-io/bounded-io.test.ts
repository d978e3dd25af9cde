import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectSocket } from "./connect-socket.ts";
import { raceAbort } from "./race-abort.ts";
import { readBody } from "./read-body.ts";
import { readFirstLine } from "./read-first-line.ts";
import { readFileIfExists, readFileIfReadable } from "./read-small-file.ts";
import { splitLines } from "./split-lines.ts";

const tooLong = () => new Error("too long");

describe("readBody", () => {
  test("returns all bytes of a body that is exactly as long as allowed", async () => {
    expect(String(await readBody(Readable.from([Buffer.from("ab"), Buffer.from("cd")]), 4, tooLong))).toBe("abcd");
  });

  test("rejects one byte more and destroys the stream", async () => {
    const body = Readable.from([Buffer.from("ab"), Buffer.from("cde"), Buffer.from("never read")]);
    await expect(readBody(body, 4, tooLong)).rejects.toThrow("too long");
    expect(body.destroyed).toBe(true);
  });
});

describe("connectSocket and readFirstLine", () => {
  let server: Server;
  let accepted: Promise<[Socket]>;
  const port = () => (server.address() as AddressInfo).port;

  beforeEach(async () => {
    server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    accepted = once(server, "connection") as Promise<[Socket]>;
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  test("connectSocket opens a connection", async () => {
    const socket = await connectSocket({ host: "127.0.0.1", port: port() }, AbortSignal.timeout(5_000));
    const [peer] = await accepted;
    peer.end("hello");
    expect(String(await readBody(socket, 5, tooLong))).toBe("hello");
    socket.destroy();
  });

  test("connectSocket rejects with the reason of the abort, before and during the attempt", async () => {
    await expect(connectSocket({ host: "127.0.0.1", port: port() }, AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
    const leaving = new AbortController();
    const connecting = connectSocket({ host: "127.0.0.1", port: port() }, leaving.signal);
    leaving.abort(new Error("left"));
    await expect(connecting).rejects.toThrow("left");
  });

  test("connectSocket rejects when no server listens", async () => {
    const free = port();
    await new Promise((resolve) => server.close(resolve));
    await expect(connectSocket({ host: "127.0.0.1", port: free }, AbortSignal.timeout(5_000))).rejects.toThrow("ECONNREFUSED");
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });

  async function firstLineOf(sent: string[], limits = { maxBytes: 10, timeoutMs: 5_000 }) {
    const socket = await connectSocket({ host: "127.0.0.1", port: port() }, AbortSignal.timeout(5_000));
    const [peer] = await accepted;
    const line = new Promise<string | null>((resolve) => readFirstLine(peer, limits, resolve));
    for (const part of sent) socket.write(part);
    const result = await line;
    return { result, peer, socket };
  }

  test("readFirstLine leaves the bytes after the line in the socket", async () => {
    const { result, peer, socket } = await firstLineOf(["tok", "en\nrest"]);
    socket.end();
    expect(result).toBe("token");
    expect(String(await readBody(peer, 100, tooLong))).toBe("rest");
  });

  test("readFirstLine gives null for a line that is too long and for one that never ends", async () => {
    const long = await firstLineOf(["x".repeat(11)]);
    expect(long.result).toBeNull();
    long.socket.destroy();
    long.peer.destroy();
    accepted = once(server, "connection") as Promise<[Socket]>;
    const slow = await firstLineOf(["x"], { maxBytes: 10, timeoutMs: 20 });
    expect(slow.result).toBeNull();
    slow.socket.destroy();
    slow.peer.destroy();
  });
});

describe("raceAbort", () => {
  test("returns the result of work that is done in time", async () => {
    expect(await raceAbort(Promise.resolve(1), AbortSignal.timeout(5_000))).toBe(1);
  });

  test("rejects with the signal's reason, also when the signal was aborted before", async () => {
    const never = new Promise<void>(() => {});
    await expect(raceAbort(never, AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
    await expect(raceAbort(never, AbortSignal.timeout(5))).rejects.toThrow("timeout");
  });
});

describe("splitLines", () => {
  async function linesOf(parts: string[], maxLength = 10): Promise<string[]> {
    const lines: string[] = [];
    for await (const line of splitLines(Readable.from(parts.map((part) => Buffer.from(part, "latin1"))), maxLength)) lines.push(line);
    return lines;
  }

  test("yields whole lines, wherever the chunks are cut", async () => {
    const bytes = Buffer.from("één\n\ntwo\nthree").toString("latin1");
    expect(await linesOf([bytes])).toEqual(["één", "two"]);
    expect(await linesOf(bytes.split(""))).toEqual(["één", "two"]);
  });

  test("throws on a line that is too long, finished or not", async () => {
    await expect(linesOf(["x".repeat(11)])).rejects.toThrow("a line is longer than 10 characters");
    await expect(linesOf([`${"x".repeat(11)}\n`])).rejects.toThrow("a line is longer than 10 characters");
  });
});

describe("reading small files", () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-small-file-"));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("a missing file reads as undefined; only readFileIfExists throws for other failures", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "text");
    expect(await readFileIfExists(file)).toBe("text");
    expect(readFileIfReadable(file)).toBe("text");
    expect(await readFileIfExists(join(folder, "missing"))).toBeUndefined();
    expect(readFileIfReadable(join(folder, "missing"))).toBeUndefined();
    await expect(readFileIfExists(join(file, "below"))).rejects.toThrow("ENOTDIR");
    expect(readFileIfReadable(join(file, "below"))).toBeUndefined();
  });
});
