import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { EgressPolicy, SandboxId } from "@berth/contract";
import { MINUTE, type Clock } from "../../clock.ts";
import { createFairTurns } from "../../event-loop/fair-turns.ts";
import { createPace } from "../../event-loop/pace.ts";
import { createFairShare } from "../../fairness/fair-share.ts";
import { createTokenBucket, takeToken } from "../../fairness/token-bucket.ts";
import { createConnectionBoundaries } from "../../faults/connection-boundary.ts";
import type { RelayCaller } from "../../forwarding/relay-caller.ts";
import type { Log } from "../../log.ts";
import { parseAllowances } from "../policy/allowances.ts";
import { allowingRule } from "../policy/policy.ts";
import { createEgressProxy } from "./egress-proxy.ts";
import { createFloodLimit, type FloodLimit } from "../limits/flood-limit.ts";
import type { Target } from "../policy/target.ts";
import { createResolve, type Resolve } from "./resolve.ts";
import type { TrafficMeter } from "./traffic.ts";

export interface EgressCounters {
  allowed: number;
  refused: number;
}

export interface ProxyFactoryOptions {
  log: Log;
  // BERTH_EGRESS_ALLOW.
  allow?: readonly string[];
  // The ports on which this server listens. No exception of the operator leads to them.
  ownPorts?: readonly number[];
  // Handles requests to the server itself. False: they are not for a relay.
  onRelay?: (request: IncomingMessage, response: ServerResponse, caller: RelayCaller) => boolean;
  resolve?: Resolve;
  dialTimeoutMs?: number;
  idleTimeoutMs?: number;
  headersTimeoutMs?: number;
  // Connections of one sandbox to its proxy, and of all sandboxes to the network. Each takes a file descriptor.
  maxConnections?: number;
  maxOutside?: number;
  // Connections and requests of one sandbox, and how long it is locked out after exceeding that.
  maxPerSecond?: number;
  floodRestMs?: number;
  clock?: Pick<Clock, "now">;
  // A monotonic clock.
  nowMs?: () => number;
}

export interface SandboxProxy {
  // Does not listen.
  proxy: Server;
  // Every accepted connection must be counted here.
  flood: FloodLimit;
  // Serves a connection when it is the sandbox's turn.
  serve(socket: Socket): void;
  // Applies to everything that begins from now on, and closes open connections that it forbids if asked to.
  change(policy: EgressPolicy, options: PolicyChange): void;
}

export interface PolicyChange {
  closeConnections: boolean;
}

const LOGGED_REFUSALS = { capacity: 30, fillMs: MINUTE };
// Names that are being resolved: for all sandboxes together, and for one.
const MAX_QUERIES = 1024;
const MAX_QUERIES_PER_SANDBOX = 64;
// A tunnel costs about half a millisecond, most of it after its turn: the request, the connection to the outside and both ends. 256 at
// once would delay everything else for 150 ms.
const PACE = { burst: 32, perSecond: 400 };

// Returns a function that creates the proxy of one sandbox. All proxies share the operator's settings, limits and counters.
export function createProxyFactory(
  options: ProxyFactoryOptions,
  counters: EgressCounters,
  traffic: TrafficMeter,
): (sandboxId: SandboxId, policy: EgressPolicy) => SandboxProxy {
  const { allow = [], ownPorts = [], log, onRelay, resolve = createResolve(allow) } = options;
  const { dialTimeoutMs = 10_000, idleTimeoutMs = 300_000, headersTimeoutMs = 15_000, maxConnections = 256, maxOutside = 4096 } = options;
  const { maxPerSecond = 500, floodRestMs: restMs = 1_000, nowMs = () => performance.now() } = options;
  const allowances = parseAllowances({ allow, ownPorts });
  const outside = createFairShare<SandboxId>({ total: maxOutside, maxPerHolder: maxConnections });
  const queries = createFairShare<SandboxId>({ total: MAX_QUERIES, maxPerHolder: MAX_QUERIES_PER_SANDBOX });
  const turns = createFairTurns({ maxWaitingPerHolder: maxConnections });
  return (sandboxId, firstPolicy) => {
    let policy = firstPolicy;
    const logRefusal = createRefusalLog(log, sandboxId, nowMs);
    const caller: RelayCaller = {
      sandboxId,
      count(visit, outer) {
        counters.allowed++;
        traffic.count(sandboxId, visit, outer);
      },
      note: (visit) => traffic.note(sandboxId, visit),
    };
    const flood = createFloodLimit({ maxPerSecond, restMs, nowMs });
    const { server: proxy, closeForbidden } = createEgressProxy({
      policy: () => policy,
      flood,
      boundaryOf: createConnectionBoundaries({ log, connection: "egress", fields: { sandboxId } }),
      allowances,
      resolve,
      takeQuerySlot: () => queries.take(sandboxId),
      timeoutMs: dialTimeoutMs,
      idleTimeoutMs,
      headersTimeoutMs,
      maxConnections,
      takeConnectionSlot: () => outside.take(sandboxId),
      onRelay: onRelay && ((request, response) => onRelay(request, response, caller)),
      onAllowed: (target, outer) =>
        caller.count({ ...target, outcome: "allowed", rule: allowingRule(policy, target, outer.remoteAddress ?? "") }, outer),
      onRefused(target, reason) {
        counters.refused++;
        logRefusal(target, reason);
        if (target) caller.note({ ...target, outcome: "refused", rule: reason });
      },
      onUnreachable: (target, reason) => void caller.note({ ...target, outcome: "unreachable", rule: reason }),
    });
    const pace = createPace(PACE);
    const takeTurn = (socket: Socket) => {
      if (socket.destroyed) return;
      const hasTurn = turns.enter(sandboxId, () => void (socket.destroyed || proxy.emit("connection", socket)));
      if (!hasTurn) socket.destroy();
    };
    const serve = (socket: Socket) => pace.start(() => takeTurn(socket));
    return {
      proxy,
      flood,
      serve,
      change(changed, { closeConnections }) {
        policy = changed;
        if (closeConnections) closeForbidden();
      },
    };
  };
}

// Limits the log: a sandbox can cause any number of refusals.
function createRefusalLog(log: Log, sandboxId: SandboxId, nowMs: () => number) {
  const bucket = createTokenBucket(LOGGED_REFUSALS, nowMs);
  return (target: Target | undefined, reason: string) => {
    // Not the path, which may contain secrets.
    if (takeToken(bucket())) log.warn("egress.refused", { sandboxId, host: target?.host, port: target?.port, reason });
  };
}
