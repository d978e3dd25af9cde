import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { AppError, isAppError } from "@berth/contract";
import { CONSOLE_PATHS, type ConsoleSignIn, type ConsoleViewer, type ViewerKind } from "@berth/contract/console.ts";
import type { Clock } from "../../clock.ts";
import type { ConsoleLogins, Login, Viewer } from "../../keys/console/console-logins.ts";
import type { Store } from "../../store/open.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import { createMemoryBuckets } from "../limits/memory-buckets.ts";
import type { Buckets } from "../limits/rate-limit.ts";
import { parseRequiredBody } from "../requests/request-body.ts";
import { addOidcRoutes, type OidcRouteDeps } from "./access/oidc-routes.ts";
import { accessOf, consoleCookies, requireOwnPage, requireViewer, type Access } from "./access/access.ts";

// A call of the console. Both consoles have the same ones, except those for operators only.
export interface ConsoleRoute {
  method: "GET" | "POST" | "DELETE";
  // The path below `/console/api` or `/console/partner/api`.
  path: string;
  // The partner's console does not have it.
  operatorOnly?: true;
  // The operator's console does not have it.
  partnerOnly?: true;
  handle(access: Access, request: FastifyRequest, reply: FastifyReply): unknown;
}

export interface ConsoleApiDeps extends OidcRouteDeps {
  logins: ConsoleLogins;
  store: Store;
  clock: Clock;
  baseUrl: string;
  // Requests per minute and login; 0 means unlimited.
  ratePerMinute: number;
}

const FAILURES_PER_MINUTE = 20;
const Credentials = Type.Object({ secret: Type.String() });

export function addConsoleApi(app: FastifyInstance, deps: ConsoleApiDeps, routes: readonly ConsoleRoute[]): void {
  const { logins, store, clock, baseUrl, ratePerMinute } = deps;
  const attempts = createMemoryBuckets(clock);
  const calls = createMemoryBuckets(clock);
  const limit = async (buckets: Buckets, name: string, perMinute: number) => {
    const { allowed, resetSeconds } = await buckets.take(name, perMinute);
    if (!allowed) throw new AppError("rate_limited", { retryAfterSeconds: resetSeconds });
  };
  const config = { public: true } as const;
  // Only failures count, and a valid secret is accepted after any number of them: otherwise one caller could lock out all others with
  // its address, which may be that of a proxy.
  const countFailure = (request: FastifyRequest) => limit(attempts, request.ip, FAILURES_PER_MINUTE);

  async function begin(kind: ViewerKind, { cookie, expiresAt }: Login, request: FastifyRequest, reply: FastifyReply): Promise<Viewer> {
    const viewer = await logins.find(cookie);
    if (!viewer) throw new AppError("unauthorized");
    const entry = accessOf(viewer, request).auditEntry("console.sign_in", viewer.partnerId ?? "", viewer.actor);
    await appendAudit(store.db, entry, clock.now());
    cookiesOf(kind).write(reply, cookie, expiresAt - clock.now());
    return viewer;
  }

  const cookiesOf = (kind: ViewerKind) => consoleCookies(kind, { isSecure: baseUrl.startsWith("https:") });
  addOidcRoutes(app, deps, {
    countFailure,
    onSignedIn: async (login, request, reply) => void (await begin("operator", login, request, reply)),
  });

  for (const kind of ["operator", "partner"] as const) {
    const prefix = `${CONSOLE_PATHS[kind]}/api`;
    const cookies = cookiesOf(kind);
    const admit = (request: FastifyRequest, reply: FastifyReply) => {
      reply.headers(API_HEADERS);
      requireOwnPage(request, baseUrl);
    };

    app.post(`${prefix}/login`, { config }, async (request, reply): Promise<ConsoleViewer> => {
      admit(request, reply);
      const login = await signIn(kind, parseRequiredBody(request, Credentials).secret).catch(async (error: unknown) => {
        if (isAppError(error, "unauthorized")) await countFailure(request);
        throw error;
      });
      return toConsoleViewer(await begin(kind, login, request, reply));
    });

    app.get(`${prefix}/sign-in`, { config }, async (request, reply): Promise<ConsoleSignIn> => {
      admit(request, reply);
      return { hasIdentityProvider: kind === "operator" && deps.oidc !== null };
    });

    app.post(`${prefix}/logout`, { config }, async (request, reply) => {
      admit(request, reply);
      const cookie = cookies.read(request);
      if (cookie !== null) await logins.signOut(cookie);
      cookies.clear(reply);
      return {};
    });

    app.get(`${prefix}/viewer`, { config }, async (request, reply): Promise<ConsoleViewer> => {
      admit(request, reply);
      return toConsoleViewer(await requireViewer(logins, cookies, kind, request));
    });

    for (const { method, path, operatorOnly, partnerOnly, handle } of routes) {
      if (kind === "partner" ? operatorOnly : partnerOnly) continue;
      app.route({
        method,
        url: `${prefix}${path}`,
        config,
        async handler(request, reply) {
          admit(request, reply);
          const viewer = await requireViewer(logins, cookies, kind, request);
          if (ratePerMinute > 0) await limit(calls, viewer.actor, ratePerMinute);
          return handle(accessOf(viewer, request), request, reply);
        },
      });
    }
  }

  async function signIn(kind: ViewerKind, secret: unknown): Promise<Login> {
    if (typeof secret !== "string")
      throw new AppError("validation_failed", { details: [{ field: "secret", message: "Must be a string" }] });
    return kind === "operator" ? logins.signInOperator(secret.trim()) : logins.signInPartner(secret.trim());
  }
}

const API_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

const toConsoleViewer = ({ kind, name, partnerId, expiresAt }: Viewer): ConsoleViewer => ({
  kind,
  name,
  partnerId,
  expiresAt: new Date(expiresAt).toISOString(),
});
