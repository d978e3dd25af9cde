import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "@berth/contract";
import { CONSOLE_HEADER, type ViewerKind } from "@berth/contract/console.ts";
import type { ConsoleLogins, Viewer } from "../../../keys/console/console-logins.ts";
import type { AuditEntry } from "../../../store/partners/audit.ts";

// The permissions of one request to the console. Handlers pass `partnerId` on to the store and never look at the viewer.
export interface Access {
  viewer: Viewer;
  // The partner whose data the request concerns; null is every partner.
  partnerId: string | null;
  auditEntry(action: string, partnerId: string, target: string): AuditEntry;
}

// The only place that decides whose data a request concerns. A partner is limited to its own, whatever it asks for; an operator may
// choose a partner with `?partner=`.
export function accessOf(viewer: Viewer, request: FastifyRequest): Access {
  const { partner } = request.query as { partner?: string | string[] };
  const chosen = typeof partner === "string" && partner !== "" ? partner : null;
  return {
    viewer,
    partnerId: viewer.partnerId ?? chosen,
    auditEntry: (action, partnerId, target) => ({
      partnerId,
      actor: viewer.actor,
      action,
      target,
      ip: request.ip,
      requestId: request.id,
    }),
  };
}

export interface ConsoleCookies {
  read(request: FastifyRequest): string | null;
  write(reply: FastifyReply, value: string, lifetimeMs: number): void;
  clear(reply: FastifyReply): void;
}

const NAMES: Record<ViewerKind, string> = { operator: "berth-console", partner: "berth-console-partner" };

// An operator and a partner may be signed in at once in one browser. Names that begin with `berth-` never reach a sandbox.
export function consoleCookies(kind: ViewerKind, { isSecure }: { isSecure: boolean }): ConsoleCookies {
  const name = `${isSecure ? "__Host-" : ""}${NAMES[kind]}`;
  const set = (reply: FastifyReply, value: string, seconds: number) =>
    void reply.header("set-cookie", `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`);
  return {
    read: (request) => cookieOf(request, name),
    write: (reply, value, lifetimeMs) => set(reply, value, Math.floor(lifetimeMs / 1000)),
    clear: (reply) => set(reply, "", 0),
  };
}

export function cookieOf({ headers }: FastifyRequest, name: string): string | null {
  const found = (headers.cookie ?? "").split(";").map((part) => part.trim());
  return found.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1) || null;
}

// Refuses requests that another site makes a browser send. Previews run on the same site as the console, so SameSite is not enough.
export function requireOwnPage({ headers, method }: FastifyRequest, baseUrl: string): void {
  const origin = headers.origin ?? (method === "GET" ? undefined : "");
  const isOwn = origin === undefined || origin === new URL(baseUrl).origin || hostOf(origin) === headers.host;
  const isSameSite = [undefined, "same-origin"].includes(headers["sec-fetch-site"] as string | undefined);
  if (!isOwn || !isSameSite || headers[CONSOLE_HEADER] === undefined) throw new AppError("forbidden");
}

const hostOf = (origin: string): string | null => (URL.canParse(origin) ? new URL(origin).host : null);

export async function requireViewer(
  logins: Pick<ConsoleLogins, "find">,
  cookies: ConsoleCookies,
  kind: ViewerKind,
  request: FastifyRequest,
): Promise<Viewer> {
  const cookie = cookies.read(request);
  const viewer = cookie === null ? null : await logins.find(cookie);
  if (viewer?.kind !== kind) throw new AppError("unauthorized");
  return viewer;
}
