// `node bench/get-session.ts` compares GET of one session with a bare node:http server that does the same authentication and
// returns the same bytes. Compare the CPU time per request; the elapsed time depends on the machine's load.
import { fork, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { newId } from "@berth/contract";
import { startTestApp } from "../server/http/testing/test-app.ts";
import { readView } from "../server/store/sessions/view.ts";
import { insertSessionRow, sessionRow } from "../server/store/testing/session-row.ts";
import { percentile } from "./median.ts";

// Alternating rounds, and the lower quartile of each, because load can only make a round slower.
const PER_ROUND = 1500;
const KEY = `berth_${"0".repeat(64)}`;
const [role] = process.argv.slice(2);
await (role === "bare" ? serveBare() : role === "berth" ? serveBerth() : compare());

async function compare(): Promise<void> {
  const servers = { bare: await start("bare"), berth: await start("berth") };
  const cpu: Record<"bare" | "berth", number[]> = { bare: [], berth: [] };
  for (let round = 0; round < 40; round++)
    for (const name of ["bare", "berth"] as const) {
      const { child, port, path, key } = servers[name];
      const before = await cpuOf(child);
      await load(port, path, key, PER_ROUND);
      const used = (await cpuOf(child)) - before;
      if (round >= 10) cpu[name].push(used / PER_ROUND);
    }
  const [bare, berth] = [percentile(cpu.bare, 0.25), percentile(cpu.berth, 0.25)];
  console.log(
    `GET session: bare ${bare.toFixed(1)} µs, Berth ${berth.toFixed(1)} µs of CPU a request; ratio ${(bare / berth).toFixed(2)} (aim 0.7)`,
  );
  for (const { child } of Object.values(servers)) {
    child.disconnect();
    await once(child, "exit");
  }
}

interface Started {
  child: ChildProcess;
  port: number;
  path: string;
  key: string;
}

async function start(name: string): Promise<Started> {
  const child = fork(import.meta.filename, [name]);
  const [message] = (await once(child, "message")) as [Omit<Started, "child">];
  return { child, ...message };
}

async function cpuOf(child: ChildProcess): Promise<number> {
  child.send("cpu");
  const [used] = (await once(child, "message")) as [number];
  return used;
}

function tell(started: Omit<Started, "child">, close: () => PromiseLike<unknown>): void {
  process.once("disconnect", () => void close().then(() => process.exit()));
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send!(user + system);
  });
  process.send!(started);
}

// Sixteen connections with one request at a time each.
async function load(port: number, path: string, key: string, count: number): Promise<void> {
  const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\n\r\n`;
  let left = count;
  const run = async () => {
    const socket = connect(port, "127.0.0.1").setNoDelay(true);
    const done = Promise.withResolvers<void>();
    socket.on("data", (chunk) => {
      if (!chunk.includes("200 OK")) return done.reject(new Error(chunk.toString()));
      if (left-- > 0) socket.write(request);
      else done.resolve();
    });
    socket.write(request);
    await done.promise;
    socket.destroy();
  };
  await Promise.all(Array.from({ length: 16 }, run));
}

async function serveBare(): Promise<void> {
  const keys = new Map([[hash(KEY), "acme"]]);
  const session = {
    sessionId: newId("ses", 0),
    sandboxId: newId("sbx", 0),
    status: "running",
    sandboxUrl: "https://berth.example/sandboxes/x",
    createdAt: new Date(0).toISOString(),
  };
  const server = createServer((request, response) => {
    const key = request.headers["x-api-key"];
    if (typeof key !== "string" || !keys.has(hash(key))) return void response.writeHead(401).end();
    const body = JSON.stringify(session);
    response.writeHead(200, { "content-type": "application/json; charset=utf-8", "content-length": Buffer.byteLength(body) }).end(body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  tell({ port: (server.address() as AddressInfo).port, path: "/api/b2b/sessions/x", key: KEY }, async () => server.close());
}

function hash(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

// Everything but the sandbox: the real routes, keys, rate limit and store.
async function serveBerth(): Promise<void> {
  const app = await startTestApp({ ratePerMinute: 1_000_000_000 });
  app.sessions.get = async (_partnerId, id) => (await readView(app.store, id))!;
  const { id } = await insertSessionRow(app.store.db, sessionRow(0));
  tell({ port: app.port, path: `/api/b2b/sessions/${id}`, key: app.key }, () => app[Symbol.asyncDispose]());
}
