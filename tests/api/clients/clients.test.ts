import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readScriptedAgent } from "../../support/agents/scripted-agent.ts";
import { describeWith, machine, testWith, type Missing } from "../../support/machine.ts";
import { daemonRuntime } from "../../support/runtime.ts";
import { shareBerth, type SharedBerth } from "../../support/servers/shared-berth.ts";
import { ACCOUNT_JOURNEYS } from "./account-journeys.ts";
import { FAULTS, SESSION, type Fault, type Response } from "./faults.ts";
import type { Connection, Runner } from "./journey.ts";
import { openLossyProxy, type LossyProxy } from "./lossy-proxy.ts";
import { installPython, PYTHON, runFile, startPythonRunner } from "./python-runner.ts";
import { SESSION_JOURNEYS } from "./session-journeys.ts";
import { startTypescriptRunner } from "./typescript-runner.ts";
import { walk } from "./walk.ts";

// Every client makes the same journeys against a real server with real sandboxes, and copes with the same faults of a service. The Python
// package is the one that the server hands out.
const folder = mkdtempSync(join(tmpdir(), "berth-python-"));
let server: SharedBerth;
let proxy: LossyProxy;
const received: { body: string; headers: IncomingHttpHeaders }[] = [];
const receiver = createServer((request, response) => {
  void text(request).then((body) => {
    received.push({ body, headers: request.headers });
    response.end();
  });
});

beforeAll(async () => {
  await daemonRuntime();
  server = await shareBerth();
  proxy = await openLossyProxy(server.url);
  await once(receiver.listen(0, "127.0.0.1"), "listening");
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  receiver.close().closeAllConnections();
  await proxy[Symbol.asyncDispose]();
});

const JOURNEYS = [...SESSION_JOURNEYS, ...ACCOUNT_JOURNEYS];

interface Client {
  name: string;
  needs: Missing[];
  install(): Promise<void>;
  start(connection: Connection): Runner;
  journeys: typeof JOURNEYS;
  faults: typeof FAULTS;
}

let installed: Promise<void> | undefined;
const install = () => (installed ??= installPython(server.url, folder));

// Python's two clients have one source, so the second makes only the journeys in which they may differ.
const maybeDiffers = ({ name }: { name: string }) => /stream|concurrent|process|run|broken|lost|breaks|slow/.test(name);
const CLIENTS: Client[] = [
  { name: "TypeScript", needs: [], install: async () => {}, start: startTypescriptRunner, journeys: JOURNEYS, faults: FAULTS },
  {
    name: "Python",
    needs: machine.python,
    install,
    start: (to) => startPythonRunner("sync", folder, to),
    journeys: JOURNEYS,
    faults: FAULTS,
  },
  {
    name: "Python with asyncio",
    needs: machine.python,
    install,
    start: (to) => startPythonRunner("async", folder, to),
    journeys: JOURNEYS.filter(maybeDiffers),
    faults: FAULTS.filter(maybeDiffers),
  },
];

for (const { name: client, needs, install: prepare, start, journeys, faults } of CLIENTS) {
  describeWith(needs, client, () => {
    const user = `user-${client.toLowerCase().replaceAll(" ", "-")}`;
    let runner: Runner;
    let facts: Record<string, unknown>;

    beforeAll(async () => {
      await prepare();
      runner = start({ baseUrl: server.url, apiKey: server.key });
      const create = { call: "berth.sessions.create", options: { externalUserId: user, autoStartAgent: false }, keep: "shared" };
      const [shared] = await runner.run([create]);
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
      facts = { user, shared: shared!.value, receiver: url, received, lossy: proxy.url, agent: await readScriptedAgent() };
    });

    afterAll(async () => {
      await runner.run([{ call: "shared.destroy" }]);
      await runner[Symbol.asyncDispose]();
    });

    test.each(journeys)("$name", async (journey) => {
      received.length = 0;
      proxy.keys.length = 0;
      proxy.loseNext();
      await walk(runner, journey, facts);
      // If a response was lost, the call came twice.
      if (proxy.keys.length > 0) expect(proxy.keys).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), proxy.keys[0]]);
    });

    describe("with a service that fails", () => {
      const requests: IncomingMessage[] = [];
      let responses: Response[] = [];
      const service = createServer((request, response) => {
        request.resume().on("end", () => reply(response, responses[Math.min(requests.push(request), responses.length) - 1]!));
      });
      const url = () => `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
      let failing: Runner;

      beforeAll(async () => {
        await once(service.listen(0, "127.0.0.1"), "listening");
        failing = start({ baseUrl: url(), apiKey: "k" });
        responses = [{ body: { ...SESSION, sandboxUrl: url() } }];
        await failing.run([{ call: "connect", options: { maxRetries: 0, timeoutMs: 500 }, keep: "impatient" }]);
        await failing.run([{ call: "berth.sessions.get", args: ["ses_1"], keep: "sandbox" }]);
        await failing.run([{ call: "sandbox.runs.get", args: ["run_1"], keep: "work" }]);
      });

      afterAll(async () => {
        await failing[Symbol.asyncDispose]();
        service.close().closeAllConnections();
      });

      test.each(faults)("$name", async ({ responses: given, step, requests: count, same = [], headers = {}, path, minMs = 0 }: Fault) => {
        // The sandbox of the session is this service too.
        const usesSandbox = step.call.startsWith("sandbox.");
        responses = usesSandbox ? given.slice(1) : given;
        requests.length = 0;
        const startedMs = performance.now();
        await walk(failing, { name: "", steps: [step] });
        expect(performance.now() - startedMs).toBeGreaterThanOrEqual(minMs);
        expect(requests).toHaveLength(usesSandbox ? count - 1 : count);
        for (const header of same) {
          const values = requests.map((request) => request.headers[header]);
          expect(values[0]).toMatch(/^[0-9a-f-]{36}$/);
          expect(new Set(values).size).toBe(1);
        }
        for (const [header, values] of Object.entries(headers)) expect(requests.map((request) => request.headers[header])).toEqual(values);
        if (path?.startsWith("/")) expect(requests[0]!.url).toBe(path);
        else if (path) expect(queryOf(requests[0]!)).toEqual(path.split("&").toSorted());
      });
    });

    test("verifies signatures of the reference library, and refuses others", async () => {
      const secrets = [7, 8].map((byte) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`) as [string, string];
      const event = { id: "evt_1", type: "session.paused", timestamp: "2030-01-01T00:00:00.000Z", data: { sessionId: "ses_1" } };
      const body = JSON.stringify({ ...event, text: "grüße \u2028 €" });
      const sign = (secret: string, at = new Date()) => ({
        "webhook-id": "evt_1",
        "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
        "webhook-signature": new Webhook(secret).sign("evt_1", at, body),
      });
      const good = sign(secrets[0]);
      const both = { ...good, "webhook-signature": `${sign(secrets[1])["webhook-signature"]} ${good["webhook-signature"]}` };
      const { "webhook-id": _id, ...withoutId } = good;
      const cases: [boolean, string, object, string | string[]][] = [
        [true, body, good, secrets[0]],
        [true, body, Object.fromEntries(Object.entries(good).map(([name, value]) => [name.toUpperCase(), [value]])), secrets[0]],
        [true, body, sign(secrets[1]), secrets],
        [true, body, both, secrets[0]],
        [false, `${body} `, good, secrets[0]],
        [false, body, { ...good, "webhook-id": "evt_2" }, secrets[0]],
        [false, body, { ...good, "webhook-timestamp": "soon" }, secrets[0]],
        [false, body, { ...good, "webhook-timestamp": "١٢٣" }, secrets[0]],
        [false, body, { ...good, "webhook-signature": "v1,***" }, secrets[0]],
        [false, body, { ...good, "webhook-signature": good["webhook-signature"].replace("v1,", "v2,") }, secrets[0]],
        [false, body, withoutId, secrets[0]],
        [false, body, sign(secrets[1]), secrets[0]],
        [false, body, sign(secrets[0], new Date(Date.now() - 301_000)), secrets[0]],
        [false, body, sign(secrets[0], new Date(Date.now() + 330_000)), secrets[0]],
      ];
      const outcomes = await runner.run(cases.map(([, ...args]) => ({ call: "verifyWebhook", args })));
      const expected = cases.map(([isGood]) => (isGood ? { value: event } : { error: { name: "WebhookVerificationError" } }));
      expect(outcomes).toMatchObject(expected);
    });
  });
}

async function runProgram(name: string, facts: object = {}): Promise<unknown> {
  await install();
  const running = runFile(PYTHON, [join(import.meta.dirname, name)], { env: { PYTHONPATH: folder }, timeout: 60_000 });
  running.child.stdin!.end(JSON.stringify({ baseUrl: server.url, apiKey: server.key, folder, agent: await readScriptedAgent(), ...facts }));
  return JSON.parse((await running).stdout.trim().split("\n").at(-1)!);
}

testWith(machine.python, "the Python client behaves as Python programs expect", async () => {
  expect(await runProgram("habits.py")).toEqual({
    "a wrong option": "There is no option 'auto_start'. The options are: env_vars, template, timeout_ms, …",
    "a wrong option inside of another": "There is no option 'branch'. The options are: url, ref, depth, path, submodules, username, token",
    "the client": `Berth(base_url='${server.url}')`,
    "a session": expect.stringMatching(/^Session\(session_id='ses_\w+', status='running', external_user_id='habits'\)$/),
    "the secret in a key as text": false,
    "an error after pickling": ["SessionNotFoundError", "session_not_found", 404],
    "Python's own error": true,
    "what an error shows of the key": false,
    "a command after Ctrl-C": "0\n",
    "a command after a cancelled scope": "0\n",
  });
});

function reply(response: ServerResponse, { closes, hangs, status = 200, headers = {}, body = "" }: Response): void {
  if (hangs === "at once") return;
  if (hangs) {
    const drops = setInterval(() => response.write(" "), 100);
    return void response.once("close", () => clearInterval(drops));
  }
  if (closes === "at once") return void response.socket!.destroy();
  if (closes === "in the middle") {
    response.writeHead(200, { "content-length": "100" }).write("{");
    return void setTimeout(() => response.destroy(), 20);
  }
  response.writeHead(status, { "content-type": "application/json", ...headers });
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  if (headers["content-type"] !== undefined || typeof body !== "string") return void response.end(bytes);
  // In pieces that split characters and lines.
  for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
  response.end();
}

const queryOf = ({ url }: IncomingMessage): string[] =>
  [...new URL(url ?? "", "http://x").searchParams].map(([name, value]) => `${name}=${value}`).toSorted();
