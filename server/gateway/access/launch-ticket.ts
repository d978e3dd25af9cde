import type { KeyObject } from "node:crypto";
import { isSandboxId, type SandboxId } from "@berth/contract";
import { ANONYMOUS_EDITOR, type Visitor } from "@berth/contract/workspace/visitor.ts";
import type { Clock } from "../../clock.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import { isSameSignature, signLines } from "../../secrets/signature.ts";

// The signed part of a launch URL: which partner may open which sandbox, and when the URL was issued. Anyone who holds the
// URL can use it until it expires, so it is short-lived and exchanged for a cookie on first use.
export interface Tickets {
  // `visitor` is the person whom the URL is for; an editor without a name, if absent. `ownerUrl` is the base URL of the server that holds
  // the sandbox; this server, if absent.
  issueLaunchUrl(launch: Launch, ownerUrl?: string): { url: string; expiresAt: number };
  // `query` is the URL's query, undecoded and without the question mark.
  verify(query: string): TicketVerdict;
}

export interface Launch {
  partnerId: string;
  sandboxId: SandboxId;
  visitor?: Visitor;
}

export type TicketVerdict =
  | ({ valid: true } & Required<Launch>)
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
    issueLaunchUrl({ partnerId, sandboxId, visitor = ANONYMOUS_EDITOR }, ownerUrl = baseUrl) {
      const ts = clock.now();
      const url = new URL("/workspace/", ownerUrl);
      const role = visitor.isSupport ? SUPPORT : visitor.role === "editor" ? "" : visitor.role;
      const name = (visitor.displayName ?? "").toWellFormed();
      const fields = { s: encodeReference(sandboxId), partner: partnerId, ts: String(ts), ...(role && { role }), ...(name && { name }) };
      const sig = sign(keys[0]!, { partnerId, sandboxId, ts, role, name });
      url.search = Object.entries({ ...fields, sig })
        .map(([field, value]) => `${field}=${encodeURIComponent(value)}`)
        .join("&");
      return { url: url.href, expiresAt: ts + ttlMs };
    },

    verify(query) {
      const fields = parse(query);
      if (!fields) return { valid: false, fault: "malformed" };
      const { partnerId, sandboxId, ts, role, name, sig } = fields;
      // Try every key, even after a match, so that the duration reveals nothing.
      const matches = keys.filter((key) => isSameSignature(sig, sign(key, fields)));
      if (matches.length === 0) return { valid: false, fault: "forged" };
      const ageMs = clock.now() - ts;
      if (ageMs < -MAX_CLOCK_SKEW_MS) return { valid: false, fault: "early" };
      if (ageMs >= ttlMs) return { valid: false, fault: "expired" };
      const visitor: Visitor = {
        role: role === "" ? "editor" : "viewer",
        displayName: name === "" ? null : name,
        ...(role === SUPPORT && { isSupport: true }),
      };
      return { valid: true, partnerId, sandboxId, visitor };
    },
  };
}

interface Fields {
  partnerId: string;
  sandboxId: SandboxId;
  ts: number;
  // "" if the URL has none.
  role: string;
  name: string;
}

// A URL with a role or a name is signed as another version, so that it is not valid without them.
const sign = (key: KeyObject, { partnerId, sandboxId, ts, role, name }: Fields) =>
  role === "" && name === ""
    ? signLines(key, ["v1", partnerId, sandboxId, ts])
    : signLines(key, ["v2", partnerId, sandboxId, ts, role, encodeURIComponent(name)]);

const encodeReference = (sandboxId: string) => Buffer.from(sandboxId).toString("base64");

const SUPPORT = "support";
const REQUIRED = ["s", "partner", "ts", "sig"];
const OPTIONAL = ["role", "name"];
const PARTNER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const TIMESTAMP = /^[1-9][0-9]{0,14}$/;
const SIGNATURE = /^[A-Za-z0-9_-]{43}$/;
const MAX_QUERY_LENGTH = 2048;

// Accepts each field at most once, no other fields, and only the canonical encoding, so that nothing goes unchecked.
function parse(query: string): (Fields & { sig: string }) | null {
  if (query.length > MAX_QUERY_LENGTH) return null;
  const entries = [...new URLSearchParams(query)];
  const values = Object.fromEntries(entries);
  const fields = Object.keys(values);
  if (entries.length !== fields.length || !REQUIRED.every((field) => fields.includes(field))) return null;
  if (!fields.every((field) => REQUIRED.includes(field) || (OPTIONAL.includes(field) && values[field] !== ""))) return null;
  const { s = "", partner = "", ts = "", sig = "", role = "", name = "" } = values;
  if (role !== "" && role !== "viewer" && role !== SUPPORT) return null;
  if (!PARTNER.test(partner) || !TIMESTAMP.test(ts) || !SIGNATURE.test(sig)) return null;
  const sandboxId = Buffer.from(s, "base64").toString("latin1");
  if (!isSandboxId(sandboxId) || encodeReference(sandboxId) !== s) return null;
  return { partnerId: partner, sandboxId, ts: Number(ts), role, name, sig };
}
