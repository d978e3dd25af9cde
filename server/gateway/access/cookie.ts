import type { SandboxId } from "@berth/contract";
import { DAY, type Clock } from "../../clock.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import { hmacText, sameText } from "./launch-ticket.ts";

// The cookies that a ticket is exchanged for. Each is bound to one sandbox (a preview's also to its port) and to the
// partner; the session and the partner are looked up with every request, so a cookie dies with either. There is a cookie
// for every sandbox, so that one browser can have several open.
export interface Cookies {
  issue(subject: CookieSubject): string[];
  // `header` is the request's Cookie header.
  check(header: string | undefined, subject: CookieSubject): boolean;
  clear(subject: CookieSubject): string[];
  // The header without our cookies, for a server inside a sandbox; undefined when nothing is left.
  strip(header: string | undefined): string | undefined;
  // Whether a Set-Cookie line of a sandbox would overwrite ours.
  isOurs(setCookie: string): boolean;
  // Cookies of other workspaces that are too many for one browser, as Set-Cookie lines that remove them.
  evict(header: string | undefined, keep: SandboxId): string[];
}

export interface CookieSubject {
  sandboxId: SandboxId;
  partnerId: string;
  // A preview's cookie: lives on the preview's own host.
  port?: number;
}

export interface CookiesOptions {
  secrets: Pick<Secrets, "derive">;
  // On https: Secure, partitioned and allowed in a partner's frame. On http (localhost): first party only.
  secure: boolean;
  clock: Pick<Clock, "now">;
}

const LIFETIME_MS = 7 * DAY;
// Some 100 bytes each, and Node refuses requests with more than 16 KiB of headers.
const MAX_WORKSPACES = 40;
const FRAMED = "Secure; SameSite=None; Partitioned";

export function createCookies({ secrets, secure, clock }: CookiesOptions): Cookies {
  const keys = secrets.derive("cookie-v1");

  function isGood(value: string, subject: CookieSubject): boolean {
    const match = VALUE.exec(value);
    if (!match) return false;
    const [, issuedAt = "", sig = ""] = match;
    const ageMs = clock.now() - Number.parseInt(issuedAt, 36);
    return keys.filter((key) => sameText(sig, sign(key, subject, issuedAt))).length > 0 && ageMs < LIFETIME_MS;
  }

  return {
    issue(subject) {
      const issuedAt = clock.now().toString(36);
      const value = `${issuedAt}.${sign(keys[0]!, subject, issuedAt)}`;
      return linesFor(subject, secure, (name) => `${name}=${value}; Max-Age=${LIFETIME_MS / 1000}`);
    },
    check(header, subject) {
      const names = namesOf(subject, secure);
      return parseCookies(header).some(([name, value]) => names.includes(name) && isGood(value, subject));
    },
    clear: (subject) => linesFor(subject, secure, (name) => `${name}=; Max-Age=0`),
    strip(header) {
      const kept = parseCookies(header).filter(([name]) => !OURS.test(name));
      return kept.length === 0 ? undefined : kept.map(([name, value]) => (name === "" ? value : `${name}=${value}`)).join("; ");
    },
    isOurs: (setCookie) => OURS.test(setCookie.split("=", 1)[0]!.trim()),
    evict(header, keep) {
      const others = parseCookies(header).filter(([name]) => WORKSPACE.test(name) && !name.endsWith(keep));
      const oldestFirst = others.toSorted(([, a], [, b]) => issueTime(a) - issueTime(b));
      const excess = oldestFirst.slice(0, Math.max(0, others.length + 1 - MAX_WORKSPACES));
      return excess.map(([name]) => line(`${name}=; Max-Age=0`, name.startsWith("__Host-") ? FRAMED : "SameSite=Lax"));
    },
  };
}

const sign = (key: Buffer, { sandboxId, partnerId, port }: CookieSubject, issuedAt: string) =>
  hmacText(key, ["v1", port === undefined ? "workspace" : `preview ${port}`, partnerId, sandboxId, issuedAt]);

const VALUE = /^([0-9a-z]{1,11})\.([A-Za-z0-9_-]{43})$/;
const OURS = /^(__Host-)?berth-/i;
const WORKSPACE = /^(__Host-)?berth-sbx_/;

// The name says which sandbox, not the path: a cookie with the prefix __Host- cannot be planted by a neighbouring domain,
// and must have the path "/".
const baseName = ({ sandboxId, port }: CookieSubject) => (port === undefined ? `berth-${sandboxId}` : "berth-preview");

// A preview on http is embedded by the workspace from another site (its host is below localhost), where a browser takes
// only partitioned cookies; browsers that know localhost to be safe accept those. The plain one serves the others, in a tab.
function variantsOf(subject: CookieSubject, secure: boolean): { name: string; attributes: string }[] {
  const framed = { name: `__Host-${baseName(subject)}`, attributes: FRAMED };
  const plain = { name: baseName(subject), attributes: "SameSite=Lax" };
  if (secure) return [framed];
  return subject.port === undefined ? [plain] : [framed, plain];
}

const namesOf = (subject: CookieSubject, secure: boolean) => variantsOf(subject, secure).map(({ name }) => name);

const linesFor = (subject: CookieSubject, secure: boolean, begin: (name: string) => string) =>
  variantsOf(subject, secure).map(({ name, attributes }) => line(begin(name), attributes));

const line = (begin: string, attributes: string) => `${begin}; Path=/; HttpOnly; ${attributes}`;

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

const issueTime = (value: string) => Number.parseInt(VALUE.exec(value)?.[1] ?? "0", 36);
