import { isSandboxId, type SandboxId } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import { isSameSignature, signLines } from "./signature.ts";

// The signed part of a launch URL: which partner may open which sandbox, and when the URL was issued. Anyone who holds the
// URL can use it until it expires, so it is short-lived and exchanged for a cookie on first use.
export interface Tickets {
  // `ownerUrl` is the base URL of the server that holds the sandbox; this server, if absent.
  issueLaunchUrl(launch: { partnerId: string; sandboxId: SandboxId }, ownerUrl?: string): { url: string; expiresAt: number };
  // `query` is the URL's query, undecoded and without the question mark.
  verify(query: string): TicketVerdict;
}

export type TicketVerdict =
  | { valid: true; partnerId: string; sandboxId: SandboxId }
  // early: issued in the future, which only a server with a wrong clock does.
  | { valid: false; fault: "malformed" | "forged" | "expired" | "early" };

export interface TicketsOptions {
  secrets: Pick<Secrets, "derive">;
  baseUrl: string;
  ttlMs: number;
  clock: Pick<Clock, "now">;
}

const MAX_CLOCK_SKEW_MS = 30_000;

export function createTickets({ secrets, baseUrl, ttlMs, clock }: TicketsOptions): Tickets {
  const keys = secrets.derive("launch-v1");
  return {
    issueLaunchUrl({ partnerId, sandboxId }, ownerUrl = baseUrl) {
      const ts = clock.now();
      const url = new URL("/workspace/", ownerUrl);
      const reference = encodeURIComponent(encodeReference(sandboxId));
      url.search = `s=${reference}&partner=${encodeURIComponent(partnerId)}&ts=${ts}&sig=${sign(keys[0]!, partnerId, sandboxId, ts)}`;
      return { url: url.href, expiresAt: ts + ttlMs };
    },

    verify(query) {
      const fields = parse(query);
      if (!fields) return { valid: false, fault: "malformed" };
      const { partnerId, sandboxId, ts, sig } = fields;
      // Try every key, even after a match, so that the duration reveals nothing.
      const matches = keys.filter((key) => isSameSignature(sig, sign(key, partnerId, sandboxId, ts)));
      if (matches.length === 0) return { valid: false, fault: "forged" };
      const ageMs = clock.now() - ts;
      if (ageMs < -MAX_CLOCK_SKEW_MS) return { valid: false, fault: "early" };
      if (ageMs >= ttlMs) return { valid: false, fault: "expired" };
      return { valid: true, partnerId, sandboxId };
    },
  };
}

const sign = (key: Buffer, partnerId: string, sandboxId: string, ts: number) => signLines(key, ["v1", partnerId, sandboxId, ts]);

const encodeReference = (sandboxId: string) => Buffer.from(sandboxId).toString("base64");

const NAMES = ["s", "partner", "ts", "sig"] as const;
const PARTNER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const TIMESTAMP = /^[1-9][0-9]{0,14}$/;
const SIGNATURE = /^[A-Za-z0-9_-]{43}$/;
const MAX_QUERY_LENGTH = 1024;

// Accepts each name exactly once, no other names, and only the canonical encoding, so that nothing goes unchecked.
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
