import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { newId, type SandboxId, type Session } from "@berth/contract";
import { systemClock } from "../../server/clock.ts";
import { createAccess } from "../../server/facades/e2b/access.ts";
import { issueKey } from "../../server/keys/keys.ts";
import { createPartner } from "../../server/keys/partners.ts";
import { silentLog } from "../../server/log.ts";
import { createSandboxTokens } from "../../server/relays/sandbox-tokens.ts";
import { createSecrets } from "../../server/secrets/secrets.ts";
import { openStore } from "../../server/store/open.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { openHostileServer, type HostileServer } from "./traffic/hostile-server.ts";
import type { ServerSample, World } from "./target.ts";

// The real server as a separate process, with the process driver. Our servers replace the daemons of its sessions, so that no
// case executes anything, and hostile servers replace everything that the server connects to.
export interface BerthWorld extends World {
  readonly berth: Berth;
  readonly port: number;
  // Idle connections to the port.
  readonly idle: Socket[];
  // The key of another partner, which may have one session.
  readonly otherKey: string;
  // The partner whose webhooks are fuzzed.
  readonly hooksKey: string;
  readonly sessions: Record<Role, Session>;
  readonly daemons: Record<Role, HostileServer>;
  readonly upstream: HostileServer;
  readonly model: HostileServer;
  // The tokens that replace the provider's key in the sandboxes of `model` and `anthropic`.
  modelToken(role: Role): string;
  // The proxy's socket, as a sandbox sees it.
  egressSocket(role: Role): string;
  // The cookie of a browser in the workspace of `gateway`, and the query of its launch URL.
  readonly cookie: string;
  readonly launchQuery: string;
  // The token of the sandbox of `gateway` for E2B's API.
  readonly e2bToken: string;
  // A browser that opens the preview of a port of the sandbox of `daemon`.
  readonly preview: { host: string; cookie: string };
}

// Uses memory if possible, because a million cases would otherwise mostly wait for the disk.
const fastFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

// The server's sessions, by target. `model` and `anthropic` differ in the provider of their models.
const ROLES = ["gateway", "daemon", "egress", "model", "anthropic"] as const;
export type Role = (typeof ROLES)[number];

const FRIENDLY = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
const caseInTarget = (head: string) => /[?&]case=([\w-]+)/.exec(head)?.[1];
const caseInAccept = (head: string) => /^accept: text\/x-case-([\w-]+)\r$/im.exec(head)?.[1];

export async function openBerthWorld(): Promise<BerthWorld> {
  await using opening = new AsyncDisposableStack();
  await daemonRuntime();
  const folder = await mkdtemp(join(fastFolder, "berth-fuzz-"));
  opening.defer(() => rm(folder, { recursive: true, force: true }));
  const listen = { host: "127.0.0.1", port: 0 };
  const upstream = opening.use(await openHostileServer({ listen, caseOf: caseInTarget, friendly: FRIENDLY }));
  const model = opening.use(await openHostileServer({ listen, caseOf: caseInAccept, friendly: FRIENDLY }));
  const masterKey = "ab".repeat(32);
  const templates = join(folder, "templates.json");
  // No case can reach anything outside this machine.
  const common = { agent: null, egress: { policy: "hosts", hosts: ["127.0.0.1", "localhost"] } };
  const anthropic = { provider: "anthropic", baseUrl: `http://127.0.0.1:${model.port}`, apiKeyVariable: "FUZZ_KEY" };
  await writeFile(templates, JSON.stringify({ default: common, anthropic: { ...common, model: anthropic } }));
  const probe = join(folder, "probe");
  const berth = opening.use(
    await startBerth({
      BERTH_DRIVER: "process",
      BERTH_DATA_DIR: join(folder, "data"),
      BERTH_LOG_LEVEL: "error",
      BERTH_MASTER_KEY: masterKey,
      BERTH_TEMPLATES: templates,
      BERTH_EGRESS_ALLOW: `127.0.0.1:${upstream.port},localhost:${upstream.port}`,
      BERTH_WEBHOOK_ALLOW_PRIVATE: "1",
      BERTH_MODEL_PROVIDER: "openai",
      BERTH_MODEL_API_KEY: "fuzz",
      // With the rate limits, most responses would be refusals.
      BERTH_MODEL_RATE_LIMIT: "0",
      BERTH_MODEL_BASE_URL: `http://127.0.0.1:${model.port}/v1`,
      NODE_OPTIONS: `--import=${join(import.meta.dirname, "probe.ts")} --max-old-space-size=512`,
      FUZZ_PROBE: probe,
      FUZZ_KEY: "fuzz",
    }),
  );
  let isDown = false;
  void berth.died().then(() => (isDown = true));

  const { otherKey, hooksKey } = await addPartners(berth);
  const sessions = {} as Record<Role, Session>;
  const daemons = {} as Record<Role, HostileServer>;
  for (const role of ROLES) {
    const session = await berth.api.create({
      externalUserId: role,
      timeoutMs: 86_400_000,
      template: role === "anthropic" ? "anthropic" : "default",
    });
    sessions[role] = session;
    daemons[role] = opening.use(await replaceDaemon(berth, session));
  }
  const { cookie, launchQuery } = await signIn(berth, sessions.gateway);
  const preview = await openPreview(berth, sessions.daemon);
  const secrets = createSecrets([Buffer.from(masterKey, "hex")]);
  const modelTokens = createSandboxTokens(secrets, "model");
  const idle: Socket[] = [];
  opening.defer(() => idle.forEach((socket) => socket.destroy()));
  const moved = opening.move();
  return {
    berth,
    port: Number(new URL(berth.url).port),
    idle,
    otherKey,
    hooksKey,
    sessions,
    daemons,
    upstream,
    model,
    modelToken: (role) => modelTokens.issue(sessions[role].sandboxId as SandboxId),
    cookie,
    launchQuery,
    e2bToken: createAccess(secrets).tokenOf("access", sessions.gateway.sandboxId as SandboxId),
    preview,
    egressSocket: (role) => join(berth.dataDir, "egress", sessions[role].sandboxId, "proxy.sock"),
    get isDown() {
      return isDown;
    },
    async lastWords() {
      return readFile(`${probe}.crash`, "utf8").catch(() => berth.output().slice(-2000));
    },
    async sample() {
      // These belong to the harness.
      for (const socket of idle.splice(0)) socket.destroy();
      return JSON.parse(await text(connect(probe))) as ServerSample;
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}

// Creates all sessions that the demo partner may have, so that a case's own creates are refused. The other partner may have one
// session, so some creates succeed.
async function addPartners(berth: Berth): Promise<Pick<BerthWorld, "otherKey" | "hooksKey">> {
  await using store = await openStore({ file: join(berth.dataDir, "berth.db"), log: silentLog });
  await store.db.updateTable("partners").set({ max_sessions: ROLES.length }).execute();
  for (const id of ["other", "hooks"]) await createPartner(store.db, systemClock, id, { maxSessions: 1 });
  const keyOf = async (id: string) => (await issueKey(store.db, systemClock, id)).key;
  return { otherKey: await keyOf("other"), hooksKey: await keyOf("hooks") };
}

// While the session is paused the server has no connection to its daemon. Afterwards it connects to the replacement.
async function replaceDaemon({ api, dataDir }: Berth, { sessionId, sandboxId }: Session): Promise<HostileServer> {
  const path = join(dataDir, "sandboxes", sandboxId, "run/daemon.sock");
  await must(api.call("POST", `/api/b2b/sessions/${sessionId}/pause`));
  await rename(path, `${path}.real`);
  const server = await openHostileServer({ listen: { path }, caseOf: caseInTarget, friendly: FRIENDLY });
  await must(api.call("POST", `/api/b2b/sessions/${sessionId}/resume`));
  return server;
}

async function signIn({ api }: Berth, { sessionId }: Session): Promise<{ cookie: string; launchQuery: string }> {
  const { body } = await must(api.call("POST", `/api/b2b/sessions/${sessionId}/launch-url`));
  const { url } = body as { url: string };
  const response = await fetch(url, { redirect: "manual" });
  return { cookie: cookiesOf(response.headers.getSetCookie()), launchQuery: new URL(url).search };
}

const cookiesOf = (lines: string[]): string => lines.map((line) => line.split(";")[0]).join("; ");

async function openPreview(berth: Berth, session: Session): Promise<BerthWorld["preview"]> {
  const { cookie } = await signIn(berth, session);
  const asked = await fetch(`${berth.url}/workspace/${session.sandboxId}/preview`, {
    method: "POST",
    headers: { cookie, origin: berth.url, "content-type": "application/json" },
    body: JSON.stringify({ port: 3000, path: "/" }),
  });
  const { host, port, pathname, search } = new URL(((await asked.json()) as { url: string }).url);
  // Some resolvers do not know names below localhost.
  const [response] = (await once(get({ host: "127.0.0.1", port, path: pathname + search, headers: { host } }), "response")) as [
    IncomingMessage,
  ];
  response.resume();
  return { host, cookie: cookiesOf(response.headers["set-cookie"] ?? []) };
}

async function must<Answer extends { status: number; body: unknown }>(asked: Promise<Answer>): Promise<Answer> {
  const answer = await asked;
  if (answer.status >= 300) throw new Error(`the set-up failed with ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

// Valid ids of things that do not exist.
export const strangers = { session: newId("ses", 0), sandbox: newId("sbx", 0), webhook: newId("whk", 0), delivery: newId("dlv", 0) };
