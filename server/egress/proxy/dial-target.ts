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
  // A place among the names that are being resolved, of which all sandboxes have a share; null when this one has its own.
  takeQuery: () => Disposable | null;
  timeoutMs: number;
}

export interface Refusal {
  status: 403 | 404 | 502 | 503;
  reason: string;
}

// A connection to the target, or the reason why there is none. A name is resolved once, its addresses are checked, and
// exactly a checked address is dialled: a second answer of its name server changes nothing. When the caller is gone the
// dialling ends at once.
export async function dialTarget(target: Target, options: DialOptions, gone: AbortSignal): Promise<Socket | Refusal> {
  const signal = AbortSignal.any([gone, AbortSignal.timeout(options.timeoutMs)]);
  const found = isIP(target.host) ? [target.host] : await resolveName(target.host, options, signal);
  if (!found) return { status: 503, reason: "too many names are being resolved" };
  const permitted = permittedAddresses(options.policy, options.allowances, target, found);
  if (typeof permitted === "string") return { status: 403, reason: permitted };
  for (const address of permitted) {
    const options = { host: address, port: target.port, noDelay: true, allowHalfOpen: true };
    const socket = await connectSocket(options, signal).catch(() => undefined);
    if (socket) return socket;
  }
  return { status: 502, reason: `${target.host}:${target.port} does not answer` };
}

// null when the sandbox has too many names in hand.
async function resolveName(host: string, { resolve, takeQuery }: DialOptions, signal: AbortSignal): Promise<string[] | null> {
  const place = takeQuery();
  if (!place) return null;
  const addresses = resolve(host).catch((): string[] => []);
  // A query cannot be taken back: the place is free when the name servers have answered, not when the caller has left.
  void addresses.then(() => place[Symbol.dispose]());
  return raceAbort(addresses, signal).catch(() => []);
}
