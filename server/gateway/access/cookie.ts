import type { KeyObject } from "node:crypto";
import type { SandboxId } from "@berth/contract";
import { ANONYMOUS_EDITOR, type Visitor } from "@berth/contract/workspace/visitor.ts";
import { DAY, type Clock } from "../../clock.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import { isSameSignature, signLines } from "../../secrets/signature.ts";

// The cookies that tickets are exchanged for. Each is bound to a partner and one sandbox, and for a preview to one port.
// Every request looks up the session and the partner, so a cookie is useless once either is gone. Each sandbox has its own
// cookie, so that one browser can have several workspaces open.
export interface Cookies {
  // Returns Set-Cookie lines, like `clear` and `evict`. The cookie is valid for a week, or until a time before that. Without `visitor`,
  // it is for an editor without a name.
  issue(subject: CookieSubject, options?: { untilMs?: number; issuedAt?: number; visitor?: Visitor }): string[];
  // The person that a valid cookie is for; null without one. `header` is the request's Cookie header.
  visitorOf(header: string | undefined, subject: CookieSubject): Visitor | null;
  // When the valid cookie was issued; null if there is none.
  issuedAt(header: string | undefined, subject: CookieSubject): number | null;
  // True if the valid cookie is from a link that was passed on to others.
  isShared(header: string | undefined, subject: CookieSubject): boolean;
  clear(subject: CookieSubject): string[];
  // The Cookie header without our cookies, for a server inside a sandbox; undefined if no cookie is left.
  strip(header: string | undefined): string | undefined;
  // True if a Set-Cookie line from a sandbox would overwrite one of our cookies.
  isOurs(setCookie: string): boolean;
  // Removes the oldest workspace cookies, except that of `keep`, once the browser has too many.
  evict(header: string | undefined, keep: SandboxId): string[];
}

export interface CookieSubject {
  sandboxId: SandboxId;
  partnerId: string;
  // Set for previews, whose cookies belong to the preview's own host.
  port?: number;
}

export interface CookiesOptions {
  secrets: Pick<Secrets, "derive">;
  // True on https: cookies are Secure, partitioned and allowed in a partner's frame. False on http (localhost): cookies are
  // first-party only.
  secure: boolean;
  clock: Pick<Clock, "now">;
}

const LIFETIME_MS = 7 * DAY;
// A cookie takes about 100 bytes, and up to 500 with a name. Node rejects requests with more than 16 KiB of headers.
const MAX_WORKSPACES = 40;
const MAX_COOKIE_BYTES = 8 * 1024;
const FRAMED = "Secure; SameSite=None; Partitioned";

export function createCookies({ secrets, secure, clock }: CookiesOptions): Cookies {
  const keys = secrets.derive("cookie-v1");
  const variantsOf = secure ? secureVariants : insecureVariants;

  function isValid(value: string, subject: CookieSubject): boolean {
    const match = VALUE.exec(value);
    if (!match) return false;
    const [, times = "", issuedAt = "", until, person, sig = ""] = match;
    const now = clock.now();
    const isSigned = keys.filter((key) => isSameSignature(sig, sign(key, subject, times, person))).length > 0;
    return isSigned && now - Number.parseInt(issuedAt, 36) < LIFETIME_MS && (until === undefined || now < Number.parseInt(until, 36));
  }

  function validValues(header: string | undefined, subject: CookieSubject): string[] {
    const names = variantsOf(subject).map(({ name }) => name);
    return parseCookies(header).flatMap(([name, value]) => (names.includes(name) && isValid(value, subject) ? [value] : []));
  }

  return {
    issue(subject, { untilMs, issuedAt: now = clock.now(), visitor = ANONYMOUS_EDITOR } = {}) {
      const times = untilMs === undefined ? now.toString(36) : `${now.toString(36)}-${untilMs.toString(36)}`;
      const person = encodeVisitor(visitor);
      const sig = sign(keys[0]!, subject, times, person);
      const value = [times, ...(person === undefined ? [] : [person]), sig].join(".");
      const lifetimeMs = Math.min(LIFETIME_MS, (untilMs ?? Infinity) - now);
      return variantsOf(subject).map(({ name, attributes }) =>
        setCookieLine(`${name}=${value}; Max-Age=${Math.floor(lifetimeMs / 1000)}`, attributes),
      );
    },
    visitorOf(header, subject) {
      const visitors = validValues(header, subject).map((value) => decodeVisitor(VALUE.exec(value)?.[4]));
      return visitors.find(({ role }) => role === "viewer") ?? visitors[0] ?? null;
    },
    issuedAt(header, subject) {
      const newest = validValues(header, subject).map(issueTime);
      return newest.length === 0 ? null : Math.max(...newest);
    },
    isShared: (header, subject) => validValues(header, subject).every((value) => VALUE.exec(value)?.[3] !== undefined),
    clear: (subject) => variantsOf(subject).map(({ name, attributes }) => setCookieLine(`${name}=; Max-Age=0`, attributes)),
    strip(header) {
      const kept = parseCookies(header).filter(([name]) => !OURS.test(name));
      return kept.length === 0 ? undefined : kept.map(([name, value]) => (name === "" ? value : `${name}=${value}`)).join("; ");
    },
    isOurs: (setCookie) => OURS.test(setCookie.split("=", 1)[0]!.trim()),
    evict(header, keep) {
      const others = parseCookies(header).filter(([name]) => WORKSPACE.test(name) && !name.endsWith(keep));
      const oldestFirst = others.toSorted(([, a], [, b]) => issueTime(a) - issueTime(b));
      let bytes = others.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
      const excess = oldestFirst.filter(([name, value], index) => {
        if (others.length - index < MAX_WORKSPACES && bytes < MAX_COOKIE_BYTES) return false;
        bytes -= name.length + value.length;
        return true;
      });
      return excess.map(([name]) => setCookieLine(`${name}=; Max-Age=0`, name.startsWith("__Host-") ? FRAMED : "SameSite=Lax"));
    },
  };
}

// `times` is when the cookie was issued and, if it ends early, until when it is valid. `person` is undefined for an editor without a name,
// and with it the cookie is signed as another version.
function sign(key: KeyObject, { sandboxId, partnerId, port }: CookieSubject, times: string, person: string | undefined): string {
  const lines = [port === undefined ? "workspace" : `preview ${port}`, partnerId, sandboxId, times];
  return signLines(key, person === undefined ? ["v1", ...lines] : ["v2", ...lines, person]);
}

function encodeVisitor({ role, displayName, isSupport }: Visitor): string | undefined {
  if (role === "editor" && displayName === null) return undefined;
  return Buffer.from(JSON.stringify([role, displayName, ...(isSupport ? [isSupport] : [])])).toString("base64url");
}

// The caller has checked the signature of the value.
function decodeVisitor(person: string | undefined): Visitor {
  if (person === undefined) return ANONYMOUS_EDITOR;
  const fields = JSON.parse(Buffer.from(person, "base64url").toString()) as [Visitor["role"], string | null, true?];
  const [role, displayName, isSupport] = fields;
  return { role, displayName, ...(isSupport && { isSupport }) };
}

const VALUE = /^(([0-9a-z]{1,11})(?:-([0-9a-z]{1,11}))?)(?:\.([A-Za-z0-9_-]{1,600}))?\.([A-Za-z0-9_-]{43})$/;
const OURS = /^(__Host-)?berth-/i;
const WORKSPACE = /^(__Host-)?berth-sbx_/;

interface Variant {
  name: string;
  attributes: string;
}

const secureVariants = (subject: CookieSubject): Variant[] => [framedVariant(subject)];

// On http, a workspace embeds its previews from another site, because preview hosts are subdomains of localhost. There a
// browser accepts only partitioned cookies, and only if it treats localhost as secure. The plain variant is for other
// browsers, which can open the preview in a tab.
const insecureVariants = (subject: CookieSubject): Variant[] =>
  subject.port === undefined ? [plainVariant(subject)] : [framedVariant(subject), plainVariant(subject)];

const framedVariant = (subject: CookieSubject): Variant => ({ name: `__Host-${baseName(subject)}`, attributes: FRAMED });
const plainVariant = (subject: CookieSubject): Variant => ({ name: baseName(subject), attributes: "SameSite=Lax" });

// The sandbox is in the name rather than in the path: a sibling domain cannot set a cookie with the prefix __Host-, and such
// a cookie must have the path "/".
const baseName = ({ sandboxId, port }: CookieSubject) => (port === undefined ? `berth-${sandboxId}` : "berth-preview");

const setCookieLine = (start: string, attributes: string) => `${start}; Path=/; HttpOnly; ${attributes}`;

function parseCookies(header: string | undefined): [name: string, value: string][] {
  return (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair !== "")
    .map((pair) => {
      const at = pair.indexOf("=");
      return at < 0 ? ["", pair] : [pair.slice(0, at), pair.slice(at + 1)];
    });
}

const issueTime = (value: string) => Number.parseInt(VALUE.exec(value)?.[2] ?? "0", 36);
