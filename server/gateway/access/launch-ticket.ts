import { createHmac, timingSafeEqual } from "node:crypto";
import { isSandboxId, type SandboxId } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { Secrets } from "../../secrets/secrets.ts";

// The signed part of a launch URL: who may open which sandbox, and since when. Anyone who holds the URL may use it until
// it expires, so it is short-lived and is exchanged for a cookie at once.
export interface Tickets {
  issueLaunchUrl(launch: { partnerId: string; sandboxId: SandboxId }): { url: string; expiresAt: number };
  // `query` is what stands behind the question mark, as it came.
  verify(query: string): TicketVerdict;
}

export type TicketVerdict =
  | { valid: true; partnerId: string; sandboxId: SandboxId }
  // early: signed for a time that has not come; only a server whose clock is wrong issues such a one.
  | { valid: false; fault: "malformed" | "forged" | "expired" | "early" };

export interface TicketsOptions {
  secrets: Pick<Secrets, "derive">;
  baseUrl: string;
  ttlMs: number;
  clock: Pick<Clock, "now">;
}

// How far the clocks of two servers may be apart.
const SKEW_MS = 30_000;

export function createTickets({ secrets, baseUrl, ttlMs, clock }: TicketsOptions): Tickets {
  const keys = secrets.derive("launch-v1");
  return {
    issueLaunchUrl({ partnerId, sandboxId }) {
      const ts = clock.now();
      const url = new URL("/workspace/", baseUrl);
      const reference = encodeURIComponent(encodeReference(sandboxId));
      url.search = `s=${reference}&partner=${encodeURIComponent(partnerId)}&ts=${ts}&sig=${sign(keys[0]!, partnerId, sandboxId, ts)}`;
      return { url: url.href, expiresAt: ts + ttlMs };
    },

    verify(query) {
      const fields = parse(query);
      if (!fields) return { valid: false, fault: "malformed" };
      const { partnerId, sandboxId, ts, sig } = fields;
      // Every key is tried, also after a match, so that the time taken tells nothing.
      const matches = keys.filter((key) => sameText(sig, sign(key, partnerId, sandboxId, ts)));
      if (matches.length === 0) return { valid: false, fault: "forged" };
      const ageMs = clock.now() - ts;
      if (ageMs < -SKEW_MS) return { valid: false, fault: "early" };
      if (ageMs >= ttlMs) return { valid: false, fault: "expired" };
      return { valid: true, partnerId, sandboxId };
    },
  };
}

// Compares signatures as text: base64url leaves spare bits in the last character, and decoding would accept variants.
export function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

export const hmacText = (key: Buffer, lines: readonly (string | number)[]): string =>
  createHmac("sha256", key).update(lines.join("\n")).digest("base64url");

const sign = (key: Buffer, partnerId: string, sandboxId: string, ts: number) => hmacText(key, ["v1", partnerId, sandboxId, ts]);

const encodeReference = (sandboxId: string) => Buffer.from(sandboxId).toString("base64");

const NAMES = ["s", "partner", "ts", "sig"] as const;
const PARTNER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const TIMESTAMP = /^[1-9][0-9]{0,14}$/;
const SIGNATURE = /^[A-Za-z0-9_-]{43}$/;
const MAX_QUERY_LENGTH = 1024;

// Each name once and no other: what is checked here is all that there is. Only the canonical spelling passes.
function parse(query: string): { partnerId: string; sandboxId: SandboxId; ts: number; sig: string } | null {
  if (query.length > MAX_QUERY_LENGTH) return null;
  const entries = [...new URLSearchParams(query)];
  const values = Object.fromEntries(entries);
  if (entries.length !== NAMES.length || !NAMES.every((name) => Object.hasOwn(values, name))) return null;
  const { s = "", partner = "", ts = "", sig = "" } = values;
  if (!PARTNER.test(partner) || !TIMESTAMP.test(ts) || !SIGNATURE.test(sig)) return null;
  const sandboxId = Buffer.from(s, "base64").toString("latin1");
  if (!isSandboxId(sandboxId) || encodeReference(sandboxId) !== s) return null;
  return { partnerId: partner, sandboxId, ts: Number(ts), sig };
}
