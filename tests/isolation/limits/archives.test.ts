import { on, once } from "node:events";
import { mkdtempSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Session } from "@berth/contract";
import type { Terminal } from "@berth/contract/daemon.ts";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { describeWith } from "../../support/machine.ts";
import { startBerth, type Berth } from "../../support/servers/berth.ts";
import { gzipBomb, tarBomb, zipBomb } from "./bombs.ts";
import { missing } from "../sandboxes.ts";

const MiB = 1024 * 1024;
// Small, because it is filled three times, and the disk of the host may be slow.
const DISK_MB = 24;

// Hostile archives, through a real server: small archives that unpack to gigabytes, and folders that cannot be packed.
describeWith(missing, "archives", () => {
  let folder: string;
  let berth: Berth;
  let session: Session;
  let neighbour: Session;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-archives-"));
    writeFileSync(join(folder, "templates.yaml"), `small: { diskMb: ${DISK_MB} }\nlarge: { diskMb: 512 }\n`);
    berth = await startBerth({ BERTH_TEMPLATES: join(folder, "templates.yaml") });
    session = await berth.api.create({ template: "large", autoStartAgent: false });
    neighbour = await berth.api.create({ template: "small", autoStartAgent: false });
  });
  afterAll(async () => {
    await berth?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = (command: string, { sandboxId }: Session = session) => berth.api.exec(sandboxId, command);

  // The response before its body is read.
  function open(path: string): Promise<IncomingMessage> {
    const url = `${berth.url}/sandboxes/${session.sandboxId}${path}`;
    return new Promise((resolve, reject) => {
      get(url, { headers: { authorization: `Bearer ${berth.key}` }, agent: false }, resolve).on("error", reject);
    });
  }

  // The read positions of the files that processes in the sandbox have open.
  async function positions(file: string): Promise<number[]> {
    const { stdout } = await run(
      // One process for all files: a sandbox gets little processor time while other tests run.
      `find /proc/[0-9]*/fd -lname /workspace/${file} 2> /dev/null | sed 's/fd/fdinfo/' | xargs -r head -qn 1`,
    );
    return stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => Number(line.replace("pos:", "")));
  }

  const unpackings: [string, () => Buffer, string][] = [
    ["tar", tarBomb, "tar xzf bomb"],
    ["Python", zipBomb, "python3 -m zipfile -e bomb ."],
    [
      "Node",
      gzipBomb,
      `/opt/berth/bin/node -e 'const fs = require("fs"); require("stream").pipeline(fs.createReadStream("bomb"), require("zlib").createGunzip(), fs.createWriteStream("bomb.bin"), (error) => process.exit(error ? 1 : 0))'`,
    ],
  ];
  test("a bomb that tar, Python or Node unpacks in a sandbox fills only that sandbox's disk", async () => {
    const victim = await berth.api.create({ template: "small", autoStartAgent: false });
    for (const [name, makeBomb, unpack] of unpackings) {
      const freeBefore = freeBytes(berth.dataDir);
      await berth.api.writeFile(victim.sandboxId, "bomb", makeBomb());
      expect([name, (await run(unpack, victim)).code]).not.toEqual([name, 0]);

      expect(statSync(join(berth.dataDir, "sandboxes", victim.sandboxId, "volume.img")).blocks * 512).toBeLessThanOrEqual(DISK_MB * MiB);
      expect(freeBefore - freeBytes(berth.dataDir)).toBeLessThan(1024 * MiB);
      expect((await run("echo well", neighbour)).stdout).toBe("well\n");
      const { stdout } = await run("df --output=avail -k /workspace | tail -1; rm bomb.bin; echo room > note; cat note", victim);
      expect(stdout).toMatch(/^ *\d{1,3}\nroom\n$/);
      expect((await berth.api.readFile(victim.sandboxId, "note"))?.toString()).toBe("room\n");
    }
    expect((await berth.api.call("DELETE", `/api/b2b/sessions/${victim.sessionId}`)).status).toBe(200);
  });

  test("a folder with endless content is packed in bounded time, and special files are left out", async () => {
    await run(`mkdir tree && cd tree && truncate -s 1T huge && echo last > z && mkdir many
ln -s . loop; ln -s b a; ln -s a b; ln -s /dev/zero zero; ln -s / root; mkfifo pipe
(echo x > pipe; touch /workspace/the-pipe-was-opened) > /dev/null 2>&1 &
python3 - <<'EOF'
import os, socket
socket.socket(socket.AF_UNIX).bind("socket")
for i in range(1000): open("many/%d" % i, "w").close()
for _ in range(200):
    os.mkdir("d" * 100); os.chdir("d" * 100)
open("unreachable", "w").close()
EOF`);
    const startMs = performance.now();
    const response = await open("/files/archive?path=tree");
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    expect(performance.now() - startMs).toBeLessThan(60_000);

    const packed = Buffer.concat(chunks);
    expect(packed.length).toBeLessThan(4 * MiB);
    const files = unzipSync(packed);
    const names = Object.keys(files);
    expect(names.filter((name) => name.startsWith("many/"))).toHaveLength(1000);
    expect(names.filter((name) => !name.startsWith("many/"))).toEqual(["z", "INCOMPLETE.txt"]);
    expect(Buffer.from(files["INCOMPLETE.txt"]!).toString()).toContain("\nhuge\n");
    expect((await run("ls the-pipe-was-opened")).code).not.toBe(0);
    for (const name of ["pipe", "socket", "zero"]) expect((await open(`/files/content?path=tree/${name}`)).statusCode).not.toBe(200);
    expect((await run("echo well", neighbour)).stdout).toBe("well\n");
  });

  test("a download that is not read is not prepared in memory", async () => {
    await run("mkdir noise && head -c 48M /dev/urandom > noise/a.bin");
    const response = await open("/files/archive?path=noise");
    let seen: number[] = [];
    // While other tests run, packing what fits into the buffers may take a sandbox a minute.
    await expect
      .poll(
        async () => {
          const before = seen;
          seen = await positions("noise/a.bin");
          return seen.length === 1 && seen[0]! > 0 && seen[0] === before[0];
        },
        { timeout: 120_000, interval: 250 },
      )
      .toBe(true);
    // The capacity of the daemon, the server and the sockets between them.
    expect(seen[0]).toBeLessThan(24 * MiB);
    response.destroy();
    await expect.poll(() => positions("noise/a.bin")).toEqual([]);
  }, 180_000);

  test("a sandbox's output is limited to 32 MiB/s over HTTP and to 12 MiB/s over WebSockets", async () => {
    await run("truncate -s 16M zeros.bin");
    const httpMs = await duration(async () => {
      const response = await open("/files/content?path=zeros.bin");
      for await (const _ of response);
    });
    // A pause before it earns an eighth of a second.
    expect(httpMs).toBeGreaterThan((16 / 32) * 1000 - 125);

    const base = `/sandboxes/${session.sandboxId}/terminals`;
    const command = ["sh", "-c", "read go; head -c 8M /dev/zero; echo; echo the end; read end"];
    const { id } = (await berth.api.call("POST", base, { cols: 80, rows: 24, command })).body as Terminal;
    const socket = new WebSocket(`${berth.url.replace("http", "ws")}${base}/${id}`, { headers: { authorization: `Bearer ${berth.key}` } });
    await once(socket, "open");
    const socketMs = await duration(async () => {
      socket.send(Buffer.from("\n"));
      let seen = 0;
      for await (const [data, isBinary] of on(socket, "message", { close: ["close"] }) as AsyncIterable<[Buffer, boolean]>) {
        if (!isBinary) continue;
        seen += data.length;
        socket.send(JSON.stringify({ type: "drawn", offset: seen }));
        if (data.includes("the end")) return;
      }
    });
    expect(socketMs).toBeGreaterThan((8 / 12) * 1000 - 125);
    socket.terminate();
  });

  test.each([
    ["a folder", "/files/archive?path=zeros", "zeros/a.bin", "3G"],
    ["a file", "/files/content?path=sparse/a.bin", "sparse/a.bin", "1T"],
  ])("a cancelled download of %s stops all its work", async (_name, path, file, size) => {
    await run(`mkdir -p ${file.split("/")[0]} && truncate -s ${size} ${file}`);
    const response = await open(path);
    response.resume();
    await expect.poll(async () => (await positions(file)).length).toBeGreaterThan(0);
    response.destroy();
    await expect.poll(() => positions(file)).toEqual([]);
    expect((await run("echo well")).stdout).toBe("well\n");
  });
});

async function duration(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

function freeBytes(path: string): number {
  const { bfree, bsize } = statfsSync(path);
  return bfree * bsize;
}
