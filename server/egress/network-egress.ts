import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import ipaddr from "ipaddr.js";
import type { EgressPolicy, SandboxId } from "@berth/contract";
import { readFirstLine } from "../bounded-io/read-first-line.ts";
import type { Clock } from "../clock.ts";
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
  // The policy of a session that has its own; null if there is none.
  ownPolicyOf(sandboxId: SandboxId): Promise<EgressPolicy | null>;
  clock: Clock;
  // Many sandboxes connect from one address, that of their node.
  sharedAddresses?: boolean;
}

export interface NetworkEgress extends Egress {
  issueToken(holder: TokenHolder): string;
  readonly port: number;
}

const TOKEN_LIMITS = { maxBytes: 512, timeoutMs: 5_000 };
// Connections from one address that have not sent their token yet.
const MAX_UNIDENTIFIED = 32;

// Egress for sandboxes on other machines: one TCP port for all of them. A connection starts with a line that contains the
// egress token; the rest goes to the proxy of that sandbox, as on a Unix socket. Any server serves any sandbox.
export async function createNetworkEgress(options: NetworkEgressOptions): Promise<NetworkEgress> {
  const { listen, tokens, templates, ownPolicyOf, log, maxConnections = 256, maxPerSecond = 500, floodRestMs: restMs = 1_000 } = options;
  const counters: EgressCounters = { allowed: 0, refused: 0 };
  const traffic = createTrafficMeter(options.clock);
  const createProxy = createProxyFactory(options, counters, traffic);
  const proxies = new Map<SandboxId, SandboxProxy & { sockets: Map<Socket, string> }>();
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

  function addProxy(sandboxId: SandboxId, policy: EgressPolicy) {
    const entry = { ...createProxy(sandboxId, policy), sockets: new Map<Socket, string>() };
    enforceTimeouts(entry.proxy);
    proxies.set(sandboxId, entry);
    return entry;
  }

  async function admit(socket: Socket, address: string, token: string): Promise<void> {
    const holder = tokens.check(token);
    const template = holder && templates.get(holder.template);
    if (!template || !(await admission.allows(holder.sandboxId, address))) return void socket.destroy();
    const policy = holder.hasOwnPolicy ? await ownPolicyOf(holder.sandboxId) : template.egress;
    if (!policy) return void socket.destroy();
    if (!socket.destroyed) serve(socket, address, holder.sandboxId, policy);
  }

  function serve(socket: Socket, address: string, sandboxId: SandboxId, policy: EgressPolicy): void {
    const entry = proxies.get(sandboxId) ?? addProxy(sandboxId, policy);
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
    async close(sandboxId) {
      for (const socket of proxies.get(sandboxId)?.sockets.keys() ?? []) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      await admission[Symbol.asyncDispose]();
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
