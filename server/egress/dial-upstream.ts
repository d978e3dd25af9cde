import type { Socket } from "node:net";
import type { SandboxId } from "@berth/contract";
import { SECOND } from "../clock.ts";
import { createFairShare } from "../fairness/fair-share.ts";
import { parseAllowances, type OperatorAllowances } from "./policy/allowances.ts";
import { dialTarget, type Refusal } from "./proxy/dial-target.ts";
import { createResolve } from "./proxy/resolve.ts";

const DIAL_TIMEOUT_MS = 10 * SECOND;
const MAX_QUERIES = 256;
const MAX_QUERIES_PER_SANDBOX = 32;

export interface UpstreamCall {
  sandboxId: SandboxId;
  signal: AbortSignal;
}

// Connects to the upstreams of relays, which partners choose, by the rules that apply to sandboxes with public egress: private
// addresses and unusual ports only where BERTH_EGRESS_ALLOW names them.
export function createUpstreamDial(operator: OperatorAllowances) {
  const queries = createFairShare<SandboxId>({ total: MAX_QUERIES, maxPerHolder: MAX_QUERIES_PER_SANDBOX });
  const options = {
    policy: { policy: "public" } as const,
    allowances: parseAllowances(operator),
    resolve: createResolve(operator.allow),
    timeoutMs: DIAL_TIMEOUT_MS,
  };
  return async (target: { host: string; port: number }, { sandboxId, signal }: UpstreamCall): Promise<Socket | Refusal> =>
    dialTarget(target, { ...options, takeQuerySlot: () => queries.take(sandboxId) }, signal);
}
