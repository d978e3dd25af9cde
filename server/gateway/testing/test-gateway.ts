import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { includesScope, newId, type KeyScope, type SandboxId, type SessionStatus } from "@berth/contract";
import type { Visitor } from "@berth/contract/workspace/visitor.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import { createDaemonLinks } from "../../daemon-link/daemon-links.ts";
import { socketDriver } from "../../daemon-link/testing/socket-driver.ts";
import { silentLog } from "../../log.ts";
import { createSecrets } from "../../secrets/secrets.ts";
import type { SessionView } from "../../sessions/sessions.ts";
import { createTickets } from "../access/launch-ticket.ts";
import type { GatewayPartner } from "../access/session-cache.ts";
import { createGateway, type GatewayDeps } from "../gateway.ts";
import type { SettingsStore } from "../user-settings.ts";
import { sendTo, type Reply, type SendOptions } from "./test-requests.ts";
import { createTestTokens, type TestTokens } from "./test-tokens.ts";

// A gateway on a free port with one session. The test provides that session's daemon.
export interface TestGateway extends AsyncDisposable {
  port: number;
  origin: string;
  sandboxId: SandboxId;
  session: SessionView;
  partner: GatewayPartner;
  clock: ReturnType<typeof createTestClock>;
  links: ReturnType<typeof createDaemonLinks>;
  registry: Registry;
  // API keys, their partners and scopes. The default scope is `admin`.
  keys: Record<string, { id: string; scope?: KeyScope } | undefined>;
  tokens: TestTokens;
  // Closes the gateway as the server does when it stops.
  close(): Promise<void>;
  serveDaemon(listener: RequestListener): Promise<Server>;
  serveRawDaemon(listener: (socket: Socket) => void): Promise<void>;
  // Changes the session and notifies listeners.
  setStatus(status: SessionStatus): void;
  launchUrl(visitor?: Visitor): URL;
  // Follows the launch URL and returns the cookie.
  signIn(visitor?: Visitor): Promise<string>;
  send(path: string, options?: SendOptions): Promise<Reply>;
}

export async function openGateway(
  options: {
    https?: boolean;
    appFolder?: string;
    headersTimeoutMs?: number;
    activity?: GatewayDeps["activity"];
    openings?: GatewayDeps["openings"];
    hasSupportVisit?: () => boolean;
    // Called for every wake of the session, before it is running. If it rejects, the session stays paused.
    wake?: () => Promise<void>;
  } = {},
): Promise<TestGateway> {
  const folder = mkdtempSync(join(tmpdir(), "berth-gateway-"));
  const socketPath = join(folder, "daemon.sock");
  const clock = createTestClock();
  const secrets = createSecrets([Buffer.alloc(32, 7)]);
  const partner: GatewayPartner = {
    id: "acme",
    name: "Acme",
    state: "active",
    origins: ["https://app.acme.example"],
    branding: { logo: null, accent: null, hideAgent: false, offerSsh: false },
    supportAccess: false,
  };
  const session = sampleSession(clock.now());
  const registry = new Registry();
  const keys: TestGateway["keys"] = { good: { id: "acme" }, other: { id: "other" } };
  const tokens = createTestTokens(session);
  const listeners = new Set<(session: SessionView) => void>();
  const daemonSockets = new Set<Socket>();
  let daemon: Server | undefined;

  function setStatus(status: SessionStatus): void {
    session.status = status;
    session.state = status;
    session.generation++;
    for (const listener of listeners) listener({ ...session });
  }

  const server = createHttpServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const origin = options.https ? `https://berth.example` : `http://localhost:${port}`;

  const links = createDaemonLinks({
    driver: socketDriver(socketPath),
    tokenOf: () => "daemon-token",
    log: silentLog,
    // Long, so that only tests about silent daemons run into it.
    headersTimeoutMs: options.headersTimeoutMs ?? 20_000,
  });
  const tickets = createTickets({ secrets, baseUrl: origin, ttlMs: 300_000, clock });
  const gateway = createGateway({
    sessions: {
      retrySource: async () => ({ ...session }),
      bySandbox: async (id) => (id === session.sandboxId ? { ...session } : null),
      async wake() {
        await options.wake?.();
        if (session.status === "paused") setStatus("running");
        return { ...session };
      },
      async extend() {
        session.expiresAt = Math.min(session.expiresAt! + session.timeoutMs, session.extendUntil ?? 0);
        return { ...session };
      },
      onChange(listener) {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
    },
    findPartner: async () => ({ ...partner }),
    authenticateSession: tokens.authenticate,
    authenticate: async (request) => {
      const byToken = tokens.authenticate(request.headers.authorization?.slice("Bearer ".length) ?? "");
      if (byToken) return byToken;
      const key = keys[String(request.headers["x-api-key"])];
      if (!key) return null;
      const allows = () => includesScope(key.scope ?? "admin", "sessions");
      return {
        partnerId: key.id,
        credentialId: "key",
        only: null,
        opens: ({ partnerId }) => partnerId === key.id,
        allows,
        hasPorts: allows(),
      };
    },
    links,
    activity: options.activity ?? { note: () => {}, begin: () => ({ [Symbol.dispose]() {} }) },
    tickets,
    settingsStore: settingsInMemory(),
    hasSupportVisit: async () => options.hasSupportVisit?.() ?? false,
    addressOf: ({ socket }) => socket.remoteAddress ?? "",
    openings: options.openings ?? { add() {}, connect: () => ({ [Symbol.dispose]() {} }), flush: async () => {} },
    secrets,
    registry,
    clock,
    log: silentLog,
    baseUrl: origin,
    maxShareHours: 24,
    previewDomain: options.https ? "preview.example" : `localhost:${port}`,
    appFolder: options.appFolder ?? join(folder, "no-app"),
  });
  server.on("request", (request, response) => {
    if (gateway.owns(request)) void gateway.request(request, response);
    else response.writeHead(404).end("not the gateway's");
  });
  server.on("upgrade", (request, socket, head) => void gateway.upgrade(request, socket, head));

  async function listen(next: Server): Promise<Server> {
    if (daemon) await closeServer(daemon, daemonSockets);
    daemon = next;
    next.on("connection", (socket) => daemonSockets.add(socket));
    await once(next.listen(socketPath), "listening");
    return next;
  }

  const launchUrl = (visitor?: Visitor) =>
    new URL(tickets.issueLaunchUrl({ partnerId: partner.id, sandboxId: session.sandboxId, ...(visitor && { visitor }) }).url);
  const send = (path: string, request?: SendOptions) => sendTo(port, path, request);
  return {
    port,
    origin,
    sandboxId: session.sandboxId,
    session,
    partner,
    clock,
    links,
    registry,
    keys,
    tokens,
    close: async () => gateway[Symbol.asyncDispose](),
    serveDaemon: (listener) => listen(createHttpServer(listener)),
    async serveRawDaemon(listener) {
      await listen(
        createServer((socket) => {
          socket.on("error", () => {});
          listener(socket);
        }),
      );
    },
    setStatus,
    launchUrl,
    async signIn(visitor) {
      const { pathname, search } = launchUrl(visitor);
      const { headers } = await send(pathname + search);
      return (headers["set-cookie"] ?? []).map((line) => line.split(";")[0]!).join("; ");
    },
    send,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await links[Symbol.asyncDispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      if (daemon) await closeServer(daemon, daemonSockets);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function settingsInMemory(): SettingsStore {
  const stored = new Map<string, { settings: string; version: number }>();
  const read: SettingsStore["read"] = async (owner) => stored.get(JSON.stringify(owner)) ?? { settings: "{}", version: 0 };
  return {
    read,
    async write(owner, { settings, version }) {
      if ((await read(owner)).version !== version) return false;
      stored.set(JSON.stringify(owner), { settings, version: version + 1 });
      return true;
    },
  };
}

async function closeServer(server: Server, sockets: Set<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await new Promise((resolve) => server.close(resolve));
}

function sampleSession(nowMs: number): SessionView {
  return {
    id: newId("ses", nowMs),
    sandboxId: newId("sbx", nowMs),
    partnerId: "acme",
    externalUserId: "user-1",
    status: "running",
    state: "running",
    generation: 1,
    template: "default",
    host: null,
    metadataJson: "{}",
    timeoutMs: 3_600_000,
    expiresAt: nowMs + 3_600_000,
    idleTimeoutMs: null,
    idleAt: null,
    extendUntil: null,
    autoResume: false,
    onTimeout: "pause",
    maxTimeoutMs: null,
    resources: null,
    egress: null,
    volumes: null,
    setup: null,
    stopReason: null,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}
