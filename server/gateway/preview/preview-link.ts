import type { IncomingMessage } from "node:http";
import { AppError, isSandboxId, type SandboxId } from "@berth/contract";
import type { PreviewLink } from "@berth/contract/workspace.ts";
import { readBody } from "../../bounded-io/read-body.ts";
import { MINUTE, type Clock } from "../../clock.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import { isSameSignature, signLines } from "../access/signature.ts";

// Every port of a sandbox has its own host, `{port}-{sandboxId}.{preview domain}`, on another site than the app. A preview
// link carries a ticket, which that host exchanges for its own cookie.
export interface PreviewLinks {
  // The preview URL with the placeholder `{port}`; null if previews are off.
  templateOf(sandboxId: SandboxId): string | null;
  originOf(sandboxId: SandboxId, port: number): string;
  // Parses a Host header; null if it is not a preview host.
  parseHost(host: string | undefined): PreviewTarget | null;
  issue(subject: PreviewSubject, path: string): PreviewLink;
  // `query` is the query of a request to OPEN_PATH. null: forged, expired or malformed.
  verify(query: string, target: PreviewTarget): { partnerId: string; path: string } | null;
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
}

export function createPreviewLinks({ secrets, baseUrl, domain, clock }: PreviewLinksOptions): PreviewLinks {
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

    issue(subject, path) {
      if (suffix === null) throw new AppError("not_found", { message: "Previews are off: this server has no preview domain" });
      const expiresAtMs = clock.now() + TTL_MS;
      const url = new URL(OPEN_PATH, `${protocol}//${hostOf(subject.sandboxId, subject.port)}`);
      url.search = new URLSearchParams({
        partner: subject.partnerId,
        expires: String(expiresAtMs),
        path,
        sig: sign(keys[0]!, subject, expiresAtMs, path),
      }).toString();
      return { url: url.href, expiresAtMs };
    },

    verify(query, target) {
      const entries = [...new URLSearchParams(query)];
      const { partner = "", expires = "", path = "", sig = "" } = Object.fromEntries(entries) as Record<string, string>;
      const expiresAtMs = Number(expires);
      const subject = { ...target, partnerId: partner };
      const matches = keys.filter((key) => isSameSignature(sig, sign(key, subject, expiresAtMs, path)));
      if (entries.length !== 4 || matches.length === 0 || !(clock.now() < expiresAtMs) || !isLocalPath(path)) return null;
      return { partnerId: partner, path };
    },
  };
}

// The body of POST /workspace/{sandboxId}/preview.
export async function readPreviewRequest(request: IncomingMessage): Promise<{ port: number; path: string }> {
  const { port, path = "/" } = await readSmallJson(request);
  const goodPort = typeof port === "number" && Number.isInteger(port) && port >= 1 && port <= 65_535;
  const goodPath = typeof path === "string" && isLocalPath(path);
  if (goodPort && goodPath) return { port, path };
  const details = [
    ...(goodPort ? [] : [{ field: "port", message: "Must be a whole number from 1 to 65535" }]),
    ...(goodPath ? [] : [{ field: "path", message: "Must be a path that starts with one slash" }]),
  ];
  throw new AppError("validation_failed", { details });
}

const HOST = /^([1-9][0-9]{0,4})-sbx[-_]([0-9a-z]{26})$/;

const sign = (key: Buffer, { sandboxId, partnerId, port }: PreviewSubject, expiresAtMs: number, path: string) =>
  signLines(key, ["v1", partnerId, sandboxId, port, expiresAtMs, path]);

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
