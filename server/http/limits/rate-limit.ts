import type { FastifyReply } from "fastify";
import { AppError } from "@berth/contract";

// A token bucket per API key. A full bucket holds the tokens of one minute and refills evenly. Every reply reports the
// remaining tokens in the header fields of draft-ietf-httpapi-ratelimit-headers-11.
export interface Buckets {
  // Takes one token. Returns a promise only if the database has to be asked.
  take(keyId: string, perMinute: number): Allowance | Promise<Allowance>;
}

export interface Allowance {
  allowed: boolean;
  // Whole tokens that are left.
  remaining: number;
  // The time until the bucket is full, or until the next token if none is left.
  resetSeconds: number;
}

const policies = new Map<number, string>();

// Writes the headers. Returns an error if the request exceeds the limit.
export function applyAllowance(
  reply: FastifyReply,
  perMinute: number,
  { allowed, remaining, resetSeconds }: Allowance,
): AppError | undefined {
  let policy = policies.get(perMinute);
  if (!policy) policies.set(perMinute, (policy = `"default";q=${perMinute};w=60`));
  reply.header("ratelimit-policy", policy);
  reply.header("ratelimit", `"default";r=${remaining};t=${resetSeconds}`);
  return allowed ? undefined : new AppError("rate_limited", { retryAfterSeconds: resetSeconds });
}

export const granted = (tokensLeft: number, perMinute: number): Allowance => ({ allowed: true, ...remainder(tokensLeft, perMinute) });

export const denied = (tokensLeft: number, perMinute: number): Allowance => ({ allowed: false, ...remainder(tokensLeft, perMinute) });

function remainder(tokensLeft: number, perMinute: number): Pick<Allowance, "remaining" | "resetSeconds"> {
  const remaining = Math.max(0, Math.floor(tokensLeft));
  const missing = remaining > 0 ? perMinute - tokensLeft : 1 - tokensLeft;
  return { remaining, resetSeconds: Math.max(1, Math.ceil((missing * 60) / perMinute)) };
}
