import { isIP, type Socket } from "node:net";
import type { EgressPolicy } from "@berth/contract";
import { connectSocket } from "../../bounded-io/connect-socket.ts";
import { raceAbort } from "../../bounded-io/race-abort.ts";
import type { Allowances } from "../policy/allowances.ts";
import { permittedAddresses } from "../policy/policy.ts";
import type { Target } from "../policy/target.ts";
import type { Resolve } from "./resolve.ts";

export interface DialOptions {
  policy: EgressPolicy;
  allowances: Allowances;
  resolve: Resolve;
  // Returns one of the slots for name resolution, which all sandboxes share, or null if this sandbox has its share.
  takeQuerySlot: () => Disposable | null;
  timeoutMs: number;
}

export interface Refusal {
  status: 403 | 404 | 502 | 503;
  reason: string;
}

// Connects to the target, or returns the reason to refuse it. Resolves the name once, checks the addresses, and dials a checked
// address, so a second answer of the name server has no effect (DNS rebinding). Stops at once when `gone` aborts.
export async function dialTarget(target: Target, options: DialOptions, gone: AbortSignal): Promise<Socket | Refusal> {
  const signal = AbortSignal.any([gone, AbortSignal.timeout(options.timeoutMs)]);
  const found = isIP(target.host) ? [target.host] : await resolveName(target.host, options, signal);
  if (!found) return { status: 503, reason: "too many names are being resolved at once" };
  const permitted = permittedAddresses(options.policy, options.allowances, target, found);
  if (typeof permitted === "string") return { status: 403, reason: permitted };
  for (const address of permitted) {
    const connecting = connectSocket({ host: address, port: target.port, noDelay: true, allowHalfOpen: true }, signal);
    const socket = await connecting.catch(() => undefined);
    if (socket) return socket;
  }
  return { status: 502, reason: `${target.host}:${target.port} does not answer` };
}

// null: the sandbox resolves too many names at once.
async function resolveName(host: string, { resolve, takeQuerySlot }: DialOptions, signal: AbortSignal): Promise<string[] | null> {
  const slot = takeQuerySlot();
  if (!slot) return null;
  const addresses = resolve(host).catch((): string[] => []);
  // A query cannot be cancelled, so the slot stays taken until the name servers answer, even if the caller leaves.
  void addresses.then(() => slot[Symbol.dispose]());
  return raceAbort(addresses, signal).catch(() => []);
}
