import type { FastifyReply } from "fastify";
import { AppError } from "@berth/contract";
import { MINUTE } from "../../clock.ts";

// A bucket of tokens for each key: full it holds a minute's worth, and it refills evenly. Every answer says how much is
// left, in the header fields of the IETF draft (draft-ietf-httpapi-ratelimit-headers-11).

export interface Allowance {
  allowed: boolean;
  // Tokens left, and seconds until there are more (none left) or all of them.
  remaining: number;
  resetSeconds: number;
}

export interface Buckets {
  // Takes one token. Mostly answered from memory, so not always a promise.
  take(keyId: string, perMinute: number): Allowance | Promise<Allowance>;
}

const policies = new Map<number, string>();

// Writes the headers; the error when the call must not go on.
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

export interface Bucket {
  tokens: number;
  at: number;
}

// As many as have come since, up to the brim. A clock that goes back adds nothing.
export const refill = ({ tokens, at }: Bucket, perMinute: number, nowMs: number): number =>
  Math.min(perMinute, tokens + (Math.max(0, nowMs - at) * perMinute) / MINUTE);

export function allowanceOf(tokensLeft: number, perMinute: number, allowed: boolean): Allowance {
  const remaining = Math.max(0, Math.floor(tokensLeft));
  const missing = remaining > 0 ? perMinute - tokensLeft : 1 - tokensLeft;
  return { allowed, remaining, resetSeconds: Math.max(1, Math.ceil((missing * 60) / perMinute)) };
}
