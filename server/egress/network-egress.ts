import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import ipaddr from "ipaddr.js";
import type { EgressPolicy, SandboxId } from "@berth/contract";
import { readFirstLine } from "../bounded-io/read-first-line.ts";
import { SECOND, type Clock } from "../clock.ts";
import { createConnectionBoundaries } from "../faults/connection-boundary.ts";
import type { Templates } from "../templates.ts";
import { createAdmission, type AdmissionDeps } from "./admission.ts";
import { createProxyFactory, type EgressCounters, type ProxyFactoryOptions, type SandboxProxy } from "./proxy/proxy-factory.ts";
import { createTrafficMeter } from "./proxy/traffic.ts";
import type { Egress } from "./egress.ts";
import { enforceTimeouts } from "./proxy/enforce-timeouts.ts";
import type { TokenHolder, EgressTokens } from "./egress-tokens.ts";
import { createAddressLimit } from "./limits/address-limit.ts";

export interface NetworkEgressOptions extends ProxyFactoryOptions, Pick<AdmissionDeps, "running" | "isAddressOf"> {
  // host:port
  listen: string;
  tokens: EgressTokens;
  templates: Templates;
  // The egress of sandboxes as their rows say, which any server may have changed.
  currentEgress(sandboxIds: readonly SandboxId[]): Promise<Map<SandboxId, CurrentEgress>>;
  clock: Clock;
  // Many sandboxes connect from one address, that of their node.
  sharedAddresses?: boolean;
}

// The egress of a session as its row says now.
export interface CurrentEgress {
  // null: that of the template.
  egress: EgressPolicy | null;
  // The number of the last change, and of the last one that closed open connections.
  limitsVersion: number;
  closedVersion: number;
}

export interface NetworkEgress extends Egress {
  issueToken(holder: TokenHolder): string;
  readonly port: number;
}

const TOKEN_LIMITS = { maxBytes: 512, timeoutMs: 5_000 };
// Connections from one address that have not sent their token yet.
const MAX_UNIDENTIFIED = 32;
// How often the policies of sandboxes with open connections are read again.
export const POLICY_MS = SECOND / 2;

interface ProxyEntry extends SandboxProxy {
  sockets: Map<Socket, string>;
  // The policy of the sandbox's template.
  templateEgress: EgressPolicy;
  // The change of the policy that applies.
  version: number;
}

// Egress for sandboxes on other machines: one TCP port for all of them. A connection starts with a line that contains the
// egress token; the rest goes to the proxy of that sandbox, as on a Unix socket. Any server serves any sandbox.
export async function createNetworkEgress(options: NetworkEgressOptions): Promise<NetworkEgress> {
  const {
    listen,
    tokens,
    templates,
    currentEgress,
    clock,
    log,
    maxConnections = 256,
    maxPerSecond = 500,
    floodRestMs: restMs = 1_000,
  } = options;
  const counters: EgressCounters = { allowed: 0, refused: 0 };
  const traffic = createTrafficMeter(options.clock);
  const createProxy = createProxyFactory(options, counters, traffic);
  const proxies = new Map<SandboxId, ProxyEntry>();
  const sockets = new Set<Socket>();
  const boundaryOf = createConnectionBoundaries({ log, connection: "egress" });
  const addresses = options.sharedAddresses
    ? null
    : createAddressLimit({ maxOpen: maxConnections + MAX_UNIDENTIFIED, maxPerSecond, restMs });
  const admission = createAdmission({ ...options, open: openConnections });

  function* openConnections() {
    for (const [sandboxId, entry] of proxies)
      for (const [socket, address] of entry.sockets) yield { sandboxId, address, close: () => void socket.destroy() };
  }

  function addProxy(sandboxId: SandboxId, templateEgress: EgressPolicy, { egress, limitsVersion: version }: CurrentEgress): ProxyEntry {
    const entry = {
      ...createProxy(sandboxId, egress ?? templateEgress),
      sockets: new Map<Socket, string>(),
      templateEgress,
      version,
    };
    enforceTimeouts(entry.proxy);
    proxies.set(sandboxId, entry);
    return entry;
  }

  // Any server may have changed the policy.
  async function readPolicies(): Promise<void> {
    if (proxies.size === 0) return;
    for (const [sandboxId, { egress, limitsVersion, closedVersion }] of await currentEgress([...proxies.keys()])) {
      const entry = proxies.get(sandboxId);
      if (!entry || entry.version >= limitsVersion) continue;
      entry.change(egress ?? entry.templateEgress, { closeConnections: closedVersion > entry.version });
      entry.version = limitsVersion;
    }
  }
  // Connections keep the policy that they have while the database does not answer.
  const reading = clock.every(POLICY_MS, () =>
    readPolicies().catch((error: unknown) => log.warn("egress.not_checked", { error: String(error) })),
  );

  async function admit(socket: Socket, address: string, token: string): Promise<void> {
    const holder = tokens.check(token);
    const template = holder && templates.get(holder.template);
    if (!template || !(await admission.allows(holder.sandboxId, address))) return void socket.destroy();
    const { sandboxId } = holder;
    const current = proxies.has(sandboxId) ? undefined : (await currentEgress([sandboxId])).get(sandboxId);
    if (socket.destroyed) return;
    const entry = proxies.get(sandboxId) ?? (current && addProxy(sandboxId, template.egress, current));
    if (entry) serve(socket, address, sandboxId, entry);
    else socket.destroy();
  }

  function serve(socket: Socket, address: string, sandboxId: SandboxId, entry: ProxyEntry): void {
    entry.sockets.set(socket, address);
    socket.once("close", () => {
      entry.sockets.delete(socket);
      if (entry.sockets.size > 0) return;
      proxies.delete(sandboxId);
      entry.proxy.close();
    });
    // The proxy does not listen itself, so it does not limit its connections.
    if (!entry.flood.take() || entry.sockets.size > maxConnections) return void socket.destroy();
    entry.serve(socket);
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const address = addressOf(socket);
    const slot = addresses?.take(address);
    if (slot === null) return void socket.destroy();
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      slot?.[Symbol.dispose]();
    });
    const boundary = boundaryOf(socket);
    boundary.run(() =>
      readFirstLine(socket, TOKEN_LIMITS, (line) => boundary.run(() => (line === null ? socket.destroy() : admit(socket, address, line)))),
    );
  });
  const colon = listen.lastIndexOf(":");
  server.listen(Number(listen.slice(colon + 1)), listen.slice(0, colon).replace(/^\[|\]$/g, ""));
  await once(server, "listening");

  return {
    counters,
    takeTraffic: traffic.take,
    takeHosts: traffic.takeHosts,
    get port() {
      const address = server.address();
      return typeof address === "object" && address ? address.port : 0;
    },
    issueToken: (holder) => tokens.issue(holder),
    // A no-op: the token alone identifies the sandbox.
    async open() {},
    change: readPolicies,
    async close(sandboxId) {
      for (const socket of proxies.get(sandboxId)?.sockets.keys() ?? []) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      await admission[Symbol.asyncDispose]();
      await reading[Symbol.asyncDispose]();
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

// Returns the address in the engine's form: a dual-stack socket reports IPv4 addresses in IPv6 form.
function addressOf({ remoteAddress = "" }: Socket): string {
  return ipaddr.isValid(remoteAddress) ? ipaddr.process(remoteAddress).toString() : "";
}
