import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "@berth/contract";
import { createApi, type Api } from "../../support/servers/api.ts";
import { startBerth, type Berth } from "../../support/servers/berth.ts";
import { runCliForJsonHere } from "../../support/servers/cli.ts";
import { startAttacker } from "./attacker.ts";
import { close, listen, urlOf } from "./servers.ts";

// A server with two partners that share it: one is hostile, one is the victim.
export interface Installation extends AsyncDisposable {
  berth: Berth;
  victim: Tenant;
  // The process that stands for the hostile partner's machines.
  attackerPid: number;
  // The calls of a new partner.
  addPartner(id: string): Promise<Api>;
  // Starts attacks of a hostile partner. Disposing the result ends them and destroys the sandbox that they came from.
  attack(names: readonly string[]): Promise<AsyncDisposable>;
  // The time, by performance.now(), at which the victim's webhook receiver got the event of this session.
  delivered(sessionId: string): Promise<number>;
  metric(name: string): Promise<number>;
}

export interface Tenant {
  api: Api;
  key: string;
  session: Session;
}

const METRICS_TOKEN = "a-token-for-the-numbers";

export async function openInstallation(): Promise<Installation> {
  await using stack = new AsyncDisposableStack();
  const attacker = stack.use(await startAttacker());
  const deliveries = new Map<string, PromiseWithResolvers<number>>();
  const deliveryOf = (sessionId: string): PromiseWithResolvers<number> => {
    const known = deliveries.get(sessionId) ?? Promise.withResolvers<number>();
    deliveries.set(sessionId, known);
    return known;
  };
  const receiver = stack.adopt(await listen(readEvent((sessionId) => deliveryOf(sessionId).resolve(performance.now()))), close);
  const folder = stack.adopt(mkdtempSync(join(tmpdir(), "berth-fairness-")), (path) => rmSync(path, { recursive: true, force: true }));
  // Small limits, so that an attack fills the disk and the memory within seconds.
  writeFileSync(join(folder, "templates.yaml"), "default: { memoryMb: 512, diskMb: 512 }\n");
  const berth = stack.use(
    await startBerth({
      BERTH_TEMPLATES: join(folder, "templates.yaml"),
      BERTH_DRIVER: "oci",
      BERTH_LOG_LEVEL: "warn",
      // The default. Other tests turn the rate limit off.
      BERTH_RATE_LIMIT: "6000",
      BERTH_METRICS_TOKEN: METRICS_TOKEN,
      BERTH_WEBHOOK_ALLOW_PRIVATE: "1",
      BERTH_EGRESS_ALLOW: new URL(attacker.upstreamUrl).host,
      BERTH_MODEL_PROVIDER: "openai",
      BERTH_MODEL_BASE_URL: `${attacker.modelUrl}/v1`,
      BERTH_MODEL_API_KEY: "sk-of-the-operator",
      BERTH_MODEL_NAME: "scripted",
    }),
  );
  const tenant = async (key: string): Promise<Tenant> => {
    const api = createApi(berth.url, key);
    return { api, key, session: await api.create({ externalUserId: "first", autoStartAgent: false }) };
  };
  let attacks = 0;
  const victim = await tenant(await createPartner(berth, "victim"));
  const webhook = await victim.api.call("POST", "/api/b2b/webhooks", { url: urlOf(receiver), types: ["session.created"] });
  if (webhook.status !== 201) throw new Error(`the webhook was refused: ${JSON.stringify(webhook.body)}`);
  const open = stack.move();

  return {
    berth,
    victim,
    attackerPid: attacker.pid,
    addPartner: async (id) => createApi(berth.url, await createPartner(berth, id)),
    async attack(names) {
      await using attack = new AsyncDisposableStack();
      // Each attack has its own partner and sandbox, so that an exhausted rate limit or leftover processes do not affect the
      // next attack.
      const { api, key, session } = await tenant(await createPartner(berth, `hostile-${++attacks}`));
      attack.defer(() => destroySession(api, session));
      const { upstreamUrl, silentUrl } = attacker;
      const database = join(berth.dataDir, "berth.db");
      const { sandboxId } = session;
      attack.use(await attacker.attack(names, { serverUrl: berth.url, key, sandboxId, upstreamUrl, silentUrl, database }));
      return attack.move();
    },
    // The event may arrive before the response to the create.
    delivered: (sessionId) => deliveryOf(sessionId).promise.finally(() => deliveries.delete(sessionId)),
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

export async function destroySession(api: Api, { sessionId }: Session): Promise<void> {
  for (;;) {
    const { status } = await api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
    if (status === 200) return;
    if (status !== 429) throw new Error(`DELETE answered ${status}`);
    await sleep(500);
  }
}

async function createPartner(berth: Berth, id: string): Promise<string> {
  return (await runCliForJsonHere<{ key: { key: string } }>(berth, "partner", "create", id)).key.key;
}

function readEvent(onDelivered: (sessionId: string) => void): RequestListener {
  return (request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      response.end();
      onDelivered((JSON.parse(body) as { data: { sessionId: string } }).data.sessionId);
    });
  };
}
