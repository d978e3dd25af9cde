import { connect, isIP, type Socket } from "node:net";
import type { EgressPolicy } from "@berth/contract";
import type { Allowances } from "./allowances.ts";
import { permittedAddresses, type Target } from "./policy.ts";
import type { Resolve } from "./resolve.ts";

export interface DialOptions {
  policy: EgressPolicy;
  allowances: Allowances;
  resolve: Resolve;
  timeoutMs: number;
}

export interface Refusal {
  status: 403 | 404 | 502 | 503;
  reason: string;
}

// A connection to the target, or the reason why there is none. A name is resolved once, its addresses are checked, and
// exactly a checked address is dialled: a second answer of its name server changes nothing.
export async function dialTarget(target: Target, { policy, allowances, resolve, timeoutMs }: DialOptions): Promise<Socket | Refusal> {
  const endMs = performance.now() + timeoutMs;
  const found = isIP(target.host) ? [target.host] : await within(resolve(target.host), timeoutMs).catch((): string[] => []);
  const permitted = permittedAddresses(policy, allowances, target, found);
  if (typeof permitted === "string") return { status: 403, reason: permitted };
  for (const address of permitted) {
    const socket = await connectTo(address, target.port, endMs - performance.now());
    if (socket) return socket;
  }
  return { status: 502, reason: `${target.host}:${target.port} does not answer` };
}

function connectTo(host: string, port: number, timeoutMs: number): Promise<Socket | undefined> {
  if (timeoutMs <= 0) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const socket = connect({ host, port, noDelay: true, allowHalfOpen: true, timeout: timeoutMs });
    const fail = () => {
      socket.destroy();
      resolve(undefined);
    };
    socket.once("timeout", fail);
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.setTimeout(0);
      socket.off("timeout", fail);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}

async function within<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("too late")), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
