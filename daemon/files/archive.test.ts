import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createServer, get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { AddressInfo } from "node:net";
import { unzipSync } from "fflate";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ArchiveLimits, sendArchive } from "./archive.ts";
import { walkFiles } from "./walk.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "berth-archive-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (...parts: string[]) => join(folder, ...parts);
const LIMITS: ArchiveLimits = { files: 100, bytes: 10_000_000, nameBytes: 10_000 };

// `answer` is the response as it starts to arrive; `done` settles with sendArchive.
async function openArchive(limits = LIMITS) {
  const done = Promise.withResolvers<void>();
  const server = createServer((_request, response) => void sendArchive(folder, response, limits).then(done.resolve, done.reject));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const request = get({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", agent: false });
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  return {
    answer,
    done: done.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function readArchive(limits = LIMITS): Promise<Record<string, string>> {
  await using archive = await openArchive(limits);
  const files = unzipSync(await buffer(archive.answer));
  await archive.done;
  return Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, Buffer.from(bytes).toString()]));
}

describe("an archive", () => {
  test("omits a file that is too large, keeps the files after it, and adds a note", async () => {
    writeFileSync(at("a"), "A");
    writeFileSync(at("huge"), "");
    truncateSync(at("huge"), 1024 ** 4);
    writeFileSync(at("z"), "Z");
    const files = await readArchive();
    expect(files).toMatchObject({ a: "A", z: "Z" });
    expect(files["INCOMPLETE.txt"]).toMatch(/incomplete.*Left out:\nhuge\n$/s);
  });

  test("has no names that lead elsewhere on Windows", async () => {
    for (const name of ["..\\..\\evil.bat", "C:evil.bat", "plain_name"]) writeFileSync(at(name), name);
    expect(Object.keys(await readArchive())).toEqual(["..%5C..%5Cevil.bat", "C%3Aevil.bat", "plain_name"]);
  });

  test("stops at its limit of files and of bytes in file names", async () => {
    for (let i = 0; i < 9; i++) writeFileSync(at(`file-${i}`), "");
    const few = await readArchive({ ...LIMITS, files: 5 });
    expect(Object.keys(few)).toEqual([...[0, 1, 2, 3, 4].map((i) => `file-${i}`), "INCOMPLETE.txt"]);
    expect(few["INCOMPLETE.txt"]).toContain("file-5 and everything after it\n");
    expect(Object.keys(await readArchive({ ...LIMITS, nameBytes: 15 }))).toEqual(["file-0", "file-1", "INCOMPLETE.txt"]);
  });

  test("ends even if a file grows faster than it is read", async () => {
    writeFileSync(at("growing"), randomBytes(500_000));
    await using archive = await openArchive();
    const chunks: Buffer[] = [];
    for await (const chunk of archive.answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      appendFileSync(at("growing"), randomBytes(200_000));
    }
    expect(unzipSync(Buffer.concat(chunks))["growing"]).toHaveLength(500_000);
  });

  test("is abandoned when the caller disconnects while the archive waits for back-pressure", async () => {
    writeFileSync(at("large"), randomBytes(9_000_000));
    await using archive = await openArchive();
    archive.answer.destroy();
    await archive.done;
  });
});

test("a walk stops when its signal aborts, even among folders without files", async () => {
  for (let i = 0; i < 5; i++) mkdirSync(at(`${i}`, "empty"), { recursive: true });
  writeFileSync(at("0", "file"), "");
  writeFileSync(at("4", "file"), "");
  const controller = new AbortController();
  const found: string[] = [];
  for await (const { path } of walkFiles(folder, new Set(), controller.signal)) {
    found.push(path);
    controller.abort();
  }
  expect(found).toEqual(["0/file"]);
});
