import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Session } from "@berth/contract";
import { createApi, type Api } from "../../support/servers/api.ts";
import { startBerth, type Berth } from "../../support/servers/berth.ts";
import { startModelServer } from "../../support/agents/model-server.ts";

// A server with two partners that share it: one is hostile, one is the victim. Both have a running session.
export interface Installation extends AsyncDisposable {
  berth: Berth;
  hostile: Tenant;
  victim: Tenant;
  // Answers every request at once; sandboxes may reach it.
  upstreamUrl: string;
  // Accepts every request and never answers; a webhook receiver that hangs.
  silentUrl: string;
  // The victim's webhook receiver has got the event of this session.
  delivered(sessionId: string): Promise<void>;
  metric(name: string): Promise<number>;
}

export interface Tenant {
  api: Api;
  key: string;
  session: Session;
}

const root = join(import.meta.dirname, "../../..");
const METRICS_TOKEN = "a-token-for-the-numbers";

export async function openInstallation(): Promise<Installation> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const upstream = stack.adopt(await listen((_request, response) => response.end("here\n")), close);
  const silent = stack.adopt(await listen(() => undefined), close);
  const deliveries = new Map<string, () => void>();
  const receiver = stack.adopt(await listen(readEvent(deliveries)), close);
  const folder = stack.adopt(mkdtempSync(join(tmpdir(), "berth-fairness-")), (path) => rmSync(path, { recursive: true, force: true }));
  // Small, so that a full disk and full memory are reached within seconds.
  writeFileSync(join(folder, "templates.yaml"), "default: { memoryMb: 512, diskMb: 512 }\n");
  const berth = stack.use(
    await startBerth({
      BERTH_TEMPLATES: join(folder, "templates.yaml"),
      BERTH_DRIVER: "oci",
      BERTH_LOG_LEVEL: "warn",
      // The default: the tests of other things switch it off.
      BERTH_RATE_LIMIT: "6000",
      BERTH_METRICS_TOKEN: METRICS_TOKEN,
      BERTH_WEBHOOK_ALLOW_PRIVATE: "1",
      BERTH_EGRESS_ALLOW: `127.0.0.1:${portOf(upstream)}`,
      BERTH_MODEL_PROVIDER: "openai",
      BERTH_MODEL_BASE_URL: `${model.url}/v1`,
      BERTH_MODEL_API_KEY: "sk-of-the-operator",
      BERTH_MODEL_NAME: "scripted",
    }),
  );
  const tenant = async (key: string): Promise<Tenant> => {
    const api = createApi(berth.url, key);
    return { api, key, session: await api.create({ externalUserId: "first", autoStartAgent: false }) };
  };
  const hostile = await tenant(berth.key);
  const victim = await tenant(await createPartner(berth, "victim"));
  const webhook = await victim.api.call("POST", "/api/b2b/webhooks", { url: urlOf(receiver), events: ["session.created"] });
  if (webhook.status !== 201) throw new Error(`the webhook was refused: ${JSON.stringify(webhook.body)}`);
  const open = stack.move();

  return {
    berth,
    hostile,
    victim,
    upstreamUrl: urlOf(upstream),
    silentUrl: urlOf(silent),
    delivered: (sessionId) => new Promise((resolve) => deliveries.set(sessionId, resolve)),
    async metric(name) {
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
      const text = await (await fetch(`${berth.url}/metrics`, { headers })).text();
      const value = new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1];
      if (value === undefined) throw new Error(`/metrics has no ${name}`);
      return Number(value);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function createPartner(berth: Berth, id: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, "cli/bin.js"), "partner", "create", id, "--json"], {
    env: { ...process.env, ...berth.env },
  });
  return (JSON.parse(stdout) as { key: { key: string } }).key.key;
}

type Handler = Parameters<typeof createServer>[1];

function readEvent(deliveries: Map<string, () => void>): NonNullable<Handler> {
  return (request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      response.end();
      deliveries.get((JSON.parse(body) as { data: { sessionId: string } }).data.sessionId)?.();
    });
  };
}

async function listen(handler: NonNullable<Handler>): Promise<Server> {
  const server = createServer(handler);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;
const urlOf = (server: Server) => `http://127.0.0.1:${portOf(server)}`;
