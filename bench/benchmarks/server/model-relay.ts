// The caller and the provider run on another thread, so only the relay's work is measured.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { newId } from "@berth/contract";
import { systemClock } from "../../../server/clock.ts";
import { readConfig } from "../../../server/config/config.ts";
import { silentLog } from "../../../server/log.ts";
import { createModelRelay } from "../../../server/relays/model/model-relay.ts";
import { measureTurns } from "../../../server/relays/model/testing/measure-turns.ts";
import { createSecrets } from "../../../server/secrets/secrets.ts";
import { openStore } from "../../../server/store/open.ts";
import { insertPartner } from "../../../server/store/store.suite.ts";
import { insertSessionRow, sessionRow } from "../../../server/store/testing/session-row.ts";
import { DEFAULT_TEMPLATE } from "../../../server/templates.ts";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import { alternate } from "../../support/rounds.ts";

export const benchmark: Benchmark = {
  summary: "how long a request of 4 MiB to the model holds the server's event loop, in processor time",
  async run(run) {
    await using relay = await openRelay(run);
    const measured = new Map(SHAPES.map((shape): [string, Work[]] => [shape, []]));
    const contestants = SHAPES.map((shape) => ({
      name: shape,
      async round() {
        const work = await relay.send(shape);
        measured.get(shape)!.push(work);
        return [work.longestTurnMs];
      },
    }));
    const turns = await alternate(contestants, { rounds: run.rounds(20, 3), warmUps: WARM_UPS });
    const cpu = [...measured].map(([shape, found]) => [shape, found.slice(WARM_UPS).map(({ cpuMs }) => cpuMs)] as const);
    return [
      { title: "Longest turn of the event loop, processor time", rows: [...turns].map(([what, values]) => ({ what, unit: "ms", values })) },
      { title: "Processor time of a request", rows: cpu.map(([what, values]) => ({ what, unit: "ms", values })) },
    ];
  },
};

interface Work {
  longestTurnMs: number;
  cpuMs: number;
}

interface Relay extends AsyncDisposable {
  // Sends a request with a body of this shape.
  send(shape: string): Promise<Work>;
}

const MiB = 4;
const WARM_UPS = 3;
const SHAPES = ["one long text", "small messages", "empty lists"];

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

async function openRelay({ resources }: Run): Promise<Relay> {
  const stack = new AsyncDisposableStack();
  resources.defer(() => stack.disposeAsync());
  const folder = await mkdtemp(join(tmpdir(), "berth-bench-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const store = stack.use(await openStore({ url: null, file: join(folder, "berth.db"), log: silentLog }));
  await insertPartner(store, "acme");
  const sandboxId = newId("sbx", Date.now());
  await insertSessionRow(store.db, sessionRow(1, { id: newId("ses", Date.now()), sandbox_id: sandboxId }));
  const other = new Worker(OTHER_THREAD, { eval: true });
  stack.defer(async () => void (await other.terminate()));
  const [providerPort] = (await once(other, "message")) as [number];
  const { config } = readConfig({
    BERTH_MODEL_PROVIDER: "openai",
    BERTH_MODEL_BASE_URL: `http://127.0.0.1:${providerPort}/v1`,
    BERTH_MODEL_API_KEY: "key",
    BERTH_MODEL_NAME: "the-model",
    BERTH_MODEL_MAX_BODY_MB: String(MiB),
    BERTH_MODEL_RATE_LIMIT: "0",
  });
  const relay = createModelRelay({
    config,
    templates: new Map([["default", DEFAULT_TEMPLATE]]),
    secrets: createSecrets([randomBytes(32)]),
    store,
    clock: systemClock,
    log: silentLog,
    env: {},
  });
  const server = createServer((request, response) =>
    relay.handle(request, response, { sandboxId, count: () => {}, note: () => () => {} }),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(async () => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const token = relay.env(sandboxId, DEFAULT_TEMPLATE).OPENAI_API_KEY;

  return {
    async send(shape) {
      const turns = measureTurns();
      const before = process.threadCpuUsage();
      other.postMessage({ shape, size: MiB * 1024 * 1024, port, token });
      const [status] = (await once(other, "message")) as [unknown];
      const { user, system } = process.threadCpuUsage(before);
      const longestTurnMs = turns.longestMs();
      if (status !== 200) throw new Error(`the relay answered ${String(status)}`);
      return { longestTurnMs, cpuMs: (user + system) / 1000 };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
