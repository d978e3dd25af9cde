import type { KeyObject } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { AppError, isSandboxId, type SandboxId } from "@berth/contract";
import type { PreviewLink } from "@berth/contract/workspace/workspace.ts";
import { readBody } from "../../bounded-io/read-body.ts";
import { HOUR, MINUTE, type Clock } from "../../clock.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import { isSameSignature, signLines } from "../../secrets/signature.ts";

// Every port of a sandbox has its own host, `{port}-{sandboxId}.{preview domain}`, on another site than the app. A preview
// link carries a ticket, which that host exchanges for its own cookie.
export interface PreviewLinks {
  // The preview URL with the placeholder `{port}`; null if previews are off.
  templateOf(sandboxId: SandboxId): string | null;
  originOf(sandboxId: SandboxId, port: number): string;
  // Parses a Host header; null if it is not a preview host.
  parseHost(host: string | undefined): PreviewTarget | null;
  issue(subject: PreviewSubject, path: string): PreviewLink;
  // A link that its owner may pass on. Everyone who has it can use this port until the given number of hours has passed, and
  // nothing else of the sandbox.
  share(subject: PreviewSubject, path: string, hours: number): PreviewLink;
  // A link that a partner's backend hands out. It is used like a shared one.
  handOut(subject: PreviewSubject, path: string, ttlMs: number): PreviewLink;
  // `query` is the query of a request to OPEN_PATH. null: forged, expired or malformed. `untilMs`: the end of a shared link.
  verify(query: string, target: PreviewTarget): { partnerId: string; path: string; untilMs?: number } | null;
}

export interface PreviewTarget {
  sandboxId: SandboxId;
  port: number;
}

export interface PreviewSubject extends PreviewTarget {
  partnerId: string;
}

// The path of the ticket exchange. The gateway itself handles all paths below /.berth/ on a preview host.
export const OPEN_PATH = "/.berth/open";

const TTL_MS = MINUTE;
const MAX_PATH_LENGTH = 2000;
const MAX_REQUEST_BYTES = 8 * 1024;

export interface PreviewLinksOptions {
  secrets: Pick<Secrets, "derive">;
  baseUrl: string;
  domain: string | null;
  clock: Pick<Clock, "now">;
  // The most hours for which a preview may be shared; 0 if not at all.
  maxShareHours: number;
}

export function createPreviewLinks({ secrets, baseUrl, domain, clock, maxShareHours }: PreviewLinksOptions): PreviewLinks {
  const keys = secrets.derive("preview-v1");
  const { protocol } = new URL(baseUrl);
  const suffix = domain === null ? null : `.${domain.toLowerCase()}`;
  const hostOf = (sandboxId: SandboxId, port: number | string) => `${port}-${sandboxId.replace("_", "-")}${suffix}`;

  return {
    templateOf: (sandboxId) => (suffix === null ? null : `${protocol}//${hostOf(sandboxId, "{port}")}`),
    originOf: (sandboxId, port) => `${protocol}//${hostOf(sandboxId, port)}`,

    parseHost(host) {
      const name = host?.toLowerCase();
      if (suffix === null || !name?.endsWith(suffix)) return null;
      const match = HOST.exec(name.slice(0, -suffix.length));
      if (!match) return null;
      const sandboxId = `sbx_${match[2]}`;
      const port = Number(match[1]);
      return isSandboxId(sandboxId) && port <= 65_535 ? { sandboxId, port } : null;
    },

    issue: (subject, path) => linkOf({ kind: "own", ...subject, path, expiresAtMs: clock.now() + TTL_MS }),
    share(subject, path, hours) {
      if (hours > maxShareHours)
        throw new AppError("forbidden", {
          message:
            maxShareHours === 0 ? "This server does not share previews" : `A preview can be shared for ${maxShareHours} hours at most`,
        });
      return linkOf({ kind: "shared", ...subject, path, expiresAtMs: clock.now() + hours * HOUR });
    },

    handOut: (subject, path, ttlMs) => linkOf({ kind: "shared", ...subject, path, expiresAtMs: clock.now() + ttlMs }),

    verify(query, target) {
      const entries = [...new URLSearchParams(query)];
      const values = Object.fromEntries(entries) as Record<string, string>;
      const { kind = "", partner = "", expires = "", path = "", sig = "" } = values;
      if (entries.length !== 5 || (kind !== "own" && kind !== "shared")) return null;
      const expiresAtMs = Number(expires);
      const ticket: Ticket = { kind, ...target, partnerId: partner, path, expiresAtMs };
      const matches = keys.filter((key) => isSameSignature(sig, sign(key, ticket)));
      if (matches.length === 0 || !(clock.now() < expiresAtMs) || !isLocalPath(path)) return null;
      return { partnerId: partner, path, ...(kind === "shared" && { untilMs: expiresAtMs }) };
    },
  };

  function linkOf(ticket: Ticket): PreviewLink {
    if (suffix === null) throw new AppError("not_found", { message: "Previews are off: this server has no preview domain" });
    const { kind, partnerId, expiresAtMs, path } = ticket;
    const url = new URL(OPEN_PATH, `${protocol}//${hostOf(ticket.sandboxId, ticket.port)}`);
    const fields = { kind, partner: partnerId, expires: String(expiresAtMs), path, sig: sign(keys[0]!, ticket) };
    url.search = new URLSearchParams(fields).toString();
    return { url: url.href, expiresAtMs };
  }
}

interface Ticket extends PreviewSubject {
  // Own links are for the browser of the workspace, and shared ones for everyone who has them.
  kind: "own" | "shared";
  path: string;
  expiresAtMs: number;
}

// The body of POST /workspace/{sandboxId}/preview.
export async function readPreviewRequest(request: IncomingMessage): Promise<{ port: number; path: string; shareHours?: number }> {
  const { port, path = "/", shareHours } = await readSmallJson(request);
  const goodPort = typeof port === "number" && Number.isInteger(port) && port >= 1 && port <= 65_535;
  const goodPath = typeof path === "string" && isLocalPath(path);
  const goodHours = shareHours === undefined || (typeof shareHours === "number" && Number.isInteger(shareHours) && shareHours >= 1);
  if (goodPort && goodPath && goodHours) return { port, path, ...(shareHours !== undefined && { shareHours }) };
  const details = [
    ...(goodPort ? [] : [{ field: "port", message: "Must be a whole number from 1 to 65535" }]),
    ...(goodPath ? [] : [{ field: "path", message: "Must be a path that starts with one slash" }]),
    ...(goodHours ? [] : [{ field: "shareHours", message: "Must be a whole number of hours" }]),
  ];
  throw new AppError("validation_failed", { details });
}

const HOST = /^([1-9][0-9]{0,4})-sbx[-_]([0-9a-z]{26})$/;

const sign = (key: KeyObject, { kind, sandboxId, partnerId, port, expiresAtMs, path }: Ticket) =>
  signLines(key, ["v2", kind, partnerId, sandboxId, port, expiresAtMs, path]);

// Rejects `//host` and `/\host`, which browsers resolve to another host.
const isLocalPath = (path: string) => path.length <= MAX_PATH_LENGTH && /^\/(?![/\\])[\x21-\x7e]*$/.test(path);

async function readSmallJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const text = String(await readBody(request, MAX_REQUEST_BYTES, () => new AppError("body_too_large")));
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  } catch {
    // Invalid JSON gets the same error as JSON of another type.
  }
  throw new AppError("validation_failed", { details: [{ field: "body", message: "Must be a JSON object" }] });
}
