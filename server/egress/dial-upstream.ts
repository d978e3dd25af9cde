import type { Socket } from "node:net";
import { SECOND } from "../clock.ts";
import { createFairShare } from "./limits/fair-share.ts";
import { parseAllowances } from "./policy/allowances.ts";
import { dialTarget, type Refusal } from "./proxy/dial-target.ts";
import { createResolve } from "./proxy/resolve.ts";

const DIAL_TIMEOUT_MS = 10 * SECOND;
const MAX_QUERIES = 256;

// Connects to the upstreams of relays, which partners choose, by the rules that apply to sandboxes with public egress: private
// addresses and unusual ports only where BERTH_EGRESS_ALLOW names them.
export function createUpstreamDial(allow: readonly string[]) {
  const queries = createFairShare<"relays">({ total: MAX_QUERIES, maxPerHolder: MAX_QUERIES });
  const options = {
    policy: { policy: "public" } as const,
    allowances: parseAllowances(allow),
    resolve: createResolve(allow),
    takeQuerySlot: () => queries.take("relays"),
    timeoutMs: DIAL_TIMEOUT_MS,
  };
  return async (target: { host: string; port: number }, signal: AbortSignal): Promise<Socket | Refusal> =>
    dialTarget(target, options, signal);
}
