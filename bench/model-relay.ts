// `node bench/model-relay.ts [MiB]` measures how long a request to the model blocks the server's event loop, and its CPU time, with
// bodies of that size (default 4) in three shapes. The caller and the provider run on another thread, so only the relay's work is
// measured. Compare the longest turn in CPU time; the longest stall in elapsed time also depends on the machine's load.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { newId } from "@berth/contract";
import { systemClock } from "../server/clock.ts";
import { readConfig } from "../server/config/config.ts";
import { silentLog } from "../server/log.ts";
import { createModelRelay } from "../server/relays/model/model-relay.ts";
import { measureTurns } from "../server/relays/model/testing/measure-turns.ts";
import { createSecrets } from "../server/secrets/secrets.ts";
import { openStore } from "../server/store/open.ts";
import { insertPartner } from "../server/store/store.suite.ts";
import { insertSessionRow, sessionRow } from "../server/store/testing/session-row.ts";
import { DEFAULT_TEMPLATE } from "../server/templates.ts";

const ROUNDS = 20;
const MiB = Number(process.argv[2] ?? 4);

// Runs on the other thread: acts as a provider on one port, and sends bodies on request.
const OTHER_THREAD = `
  const { parentPort } = require("node:worker_threads");
  const http = require("node:http");
  const provider = http.createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(200, { "content-type": "application/json" })
      .end('{"usage":{"prompt_tokens":1,"completion_tokens":1}}'));
  }).listen(0, "127.0.0.1", () => parentPort.postMessage(provider.address().port));
  const SHAPES = {
    "one long text": (size) => '{"model":"m","messages":[{"role":"user","content":"' + "lorem ipsum ".repeat(size / 12 - 10) + '"}]}',
    "small messages": (size) => '{"model":"m","messages":[' + '{"role":"user","content":"hello there"},'.repeat(size / 40 - 10) + '{"role":"user","content":"x"}]}',
    "empty lists": (size) => '{"model":"m","messages":[' + "[],".repeat(size / 3 - 20) + "[]]}",
  };
  parentPort.on("message", ({ shape, size, port, token }) => {
    const body = Buffer.from(SHAPES[shape](size));
    const request = http.request({ port, host: "127.0.0.1", path: "/model/openai/v1/chat/completions", method: "POST", agent: false,
      headers: { authorization: "Bearer " + token, "content-length": body.length } }, (response) => {
      response.resume().on("end", () => parentPort.postMessage(response.statusCode));
    });
    request.on("error", (error) => parentPort.postMessage(String(error)));
    request.end(body);
  });
`;

const folder = await mkdtemp(join(tmpdir(), "berth-bench-"));
const store = await openStore({ url: null, file: join(folder, "berth.db"), log: silentLog });
await insertPartner(store, "acme");
const sandboxId = newId("sbx", Date.now());
await insertSessionRow(store.db, sessionRow(1, { id: newId("ses", Date.now()), sandbox_id: sandboxId }));
const other = new Worker(OTHER_THREAD, { eval: true });
const [providerPort] = (await once(other, "message")) as [number];
const { config } = readConfig({
  BERTH_MODEL_PROVIDER: "openai",
  BERTH_MODEL_BASE_URL: `http://127.0.0.1:${providerPort}/v1`,
  BERTH_MODEL_API_KEY: "key",
  BERTH_MODEL_NAME: "the-model",
  BERTH_MODEL_MAX_BODY_MB: String(Math.ceil(MiB)),
  BERTH_MODEL_RATE_LIMIT: "0",
});
const relay = createModelRelay({
  config,
  templates: new Map([["default", DEFAULT_TEMPLATE]]),
  secrets: createSecrets([randomBytes(32)]),
  db: store.db,
  clock: systemClock,
  log: silentLog,
  env: {},
});
const server = createServer((request, response) => relay.handle(request, response, sandboxId)).listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
const token = relay.env(sandboxId, DEFAULT_TEMPLATE).OPENAI_API_KEY;

for (const shape of ["one long text", "small messages", "empty lists"]) {
  const statuses = new Set<unknown>();
  let turns = measureTurns();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let cpuMs = 0;
  for (let round = 0; round < ROUNDS + 3; round++) {
    // The first rounds warm up the code.
    if (round === 3) {
      delay.enable();
      turns.longestMs();
      turns = measureTurns();
    }
    const before = process.threadCpuUsage();
    other.postMessage({ shape, size: MiB * 1024 * 1024, port, token });
    const [status] = (await once(other, "message")) as [unknown];
    statuses.add(status);
    const { user, system } = process.threadCpuUsage(before);
    if (round >= 3) cpuMs += (user + system) / 1000;
  }
  delay.disable();
  const [longestTurn, longestStall, cpu] = [turns.longestMs(), delay.max / 1e6, cpuMs / ROUNDS].map((ms) => `${ms.toFixed(1)} ms`);
  console.log(
    `${MiB} MiB, ${shape}: longest turn ${longestTurn} of CPU, longest stall ${longestStall} of wall clock; ${cpu} of CPU a request (answers ${[...statuses].join(", ")})`,
  );
}

server.close();
server.closeAllConnections();
await other.terminate();
await store[Symbol.asyncDispose]();
await rm(folder, { recursive: true, force: true });
