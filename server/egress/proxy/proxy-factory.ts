import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { EgressPolicy, SandboxId } from "@berth/contract";
import { createConnectionBoundaries } from "../../faults/connection-boundary.ts";
import { createFairShare } from "../limits/fair-share.ts";
import type { Log } from "../../log.ts";
import { parseAllowances } from "../policy/allowances.ts";
import { createEgressProxy } from "./egress-proxy.ts";
import { createFloodLimit, type FloodLimit } from "../limits/flood-limit.ts";
import type { Target } from "../policy/target.ts";
import { createResolve, type Resolve } from "./resolve.ts";

export interface EgressCounters {
  allowed: number;
  refused: number;
}

export interface ProxyFactoryOptions {
  log: Log;
  // BERTH_EGRESS_ALLOW.
  allow?: readonly string[];
  // Answers requests for `/model/…`: the model relay.
  onModel?: (request: IncomingMessage, response: ServerResponse, sandboxId: SandboxId) => void;
  resolve?: Resolve;
  dialTimeoutMs?: number;
  idleTimeoutMs?: number;
  headersTimeoutMs?: number;
  // Of one sandbox to its proxy, and of all sandboxes together to the outside: each takes an open file of the server.
  maxConnections?: number;
  maxOutside?: number;
  // Connections and requests of one sandbox, and for how long it is shut out after more than that.
  maxPerSecond?: number;
  floodRestMs?: number;
}

export interface SandboxProxy {
  // Its proxy, not yet listening.
  proxy: Server;
  // For whoever lets connections in to it.
  flood: FloodLimit;
}

const LOGGED_REFUSALS_A_MINUTE = 30;
// Names that are being resolved: of all sandboxes together, and of one.
const MAX_QUERIES = 1024;
const MAX_QUERIES_PER_SANDBOX = 64;

// Makes the proxies of single sandboxes, all with the operator's settings and all counted together.
export function createProxyFactory(
  options: ProxyFactoryOptions,
  counters: EgressCounters,
): (sandboxId: SandboxId, policy: EgressPolicy) => SandboxProxy {
  const { allow = [], log, onModel, resolve = createResolve(allow) } = options;
  const { dialTimeoutMs = 10_000, idleTimeoutMs = 300_000, headersTimeoutMs = 15_000, maxConnections = 256, maxOutside = 4096 } = options;
  const { maxPerSecond = 500, floodRestMs: restMs = 1_000 } = options;
  const allowances = parseAllowances(allow);
  const outside = createFairShare<SandboxId>({ total: maxOutside, maxPerHolder: maxConnections });
  const queries = createFairShare<SandboxId>({ total: MAX_QUERIES, maxPerHolder: MAX_QUERIES_PER_SANDBOX });
  return (sandboxId, policy) => {
    const logRefusal = createRefusalLog(log, sandboxId);
    const flood = createFloodLimit({ maxPerSecond, restMs });
    const proxy = createEgressProxy({
      policy,
      flood,
      boundaryOf: createConnectionBoundaries({ log, connection: "egress", fields: { sandboxId } }),
      allowances,
      resolve,
      takeQuery: () => queries.take(sandboxId),
      timeoutMs: dialTimeoutMs,
      idleTimeoutMs,
      headersTimeoutMs,
      maxConnections,
      takePlace: () => outside.take(sandboxId),
      onModel: onModel && ((request, response) => onModel(request, response, sandboxId)),
      onAllowed: () => void counters.allowed++,
      onRefused(target, reason) {
        counters.refused++;
        logRefusal(target, reason);
      },
    });
    return { proxy, flood };
  };
}

// A sandbox can be refused as often as it likes; the log takes a bounded part of it.
function createRefusalLog(log: Log, sandboxId: SandboxId) {
  let minute = 0;
  let logged = 0;
  return (target: Target | undefined, reason: string) => {
    const now = Math.floor(performance.now() / 60_000);
    if (now !== minute) [minute, logged] = [now, 0];
    if (logged++ < LOGGED_REFUSALS_A_MINUTE) log.warn("egress.refused", { sandboxId, ...target, reason });
  };
}
