import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError, includesScope, type CallScope } from "@berth/contract";
import type { SessionAccess } from "../../session-access.ts";
import { hideMediaType } from "../requests/request-body.ts";
import { presentedKey, type Authenticate, type Principal } from "./authentication.ts";
import { applyAllowance, type Buckets } from "./rate-limit.ts";

const API = "/api/b2b";
// One error for all callers without a key: its stack is never logged, and capturing it is a fifth of the work of such a request.
const UNAUTHORIZED = new AppError("unauthorized");

export interface AdmissionDeps {
  authenticate: Authenticate;
  buckets: Buckets;
  // For partners without a limit of their own; 0 means unlimited.
  ratePerMinute: number;
}

declare module "fastify" {
  interface FastifyRequest {
    // Set before the handler of every route that is not public.
    principal: Principal;
  }
}

// Checks every request before its body is read: the API key, then the rate limit, then path and method, then the key's scope. A caller without a
// key learns nothing but that.
export function admitRequests(app: FastifyInstance, { authenticate, buckets, ratePerMinute }: AdmissionDeps): void {
  const routes = collectRoutes(app);
  app.decorateRequest("principal");

  // This uses callbacks instead of promises, because most requests are admitted without waiting.
  app.addHook("onRequest", (request, reply, done) => {
    // Fastify makes a new object for every use of `routeOptions`.
    const { config } = request.routeOptions;
    reply.header("x-request-id", request.id);
    hideMediaType(request);
    if (isPublic(request, config)) return finish(undefined);
    reply.header("cache-control", "no-store");
    const key = presentedKey(request.raw.rawHeaders);
    if (key === null) return limitRate(null);
    const principal = authenticate(key);
    if (principal instanceof Promise) principal.then(limitRate, done);
    else limitRate(principal);

    function limitRate(caller: Principal | null): void {
      if (!caller) return done(UNAUTHORIZED);
      request.principal = caller;
      const perMinute = caller.partner.ratePerMinute ?? ratePerMinute;
      if (perMinute === 0) return finish(undefined);
      const allowance = buckets.take(caller.token?.only?.sessionId ?? caller.keyId, perMinute);
      if (allowance instanceof Promise) allowance.then((known) => finish(applyAllowance(reply, perMinute, known)), done);
      else finish(applyAllowance(reply, perMinute, allowance));
    }

    function finish(refusal: AppError | undefined): void {
      done(refusal ?? (request.is404 ? noRouteError(routes, request, reply) : scopeError(request, config)));
    }
  });
}

// The error for a URL that cannot be decoded. Such a URL never reaches the router, but the checks have the same order.
export async function badUrlError(authenticate: Authenticate, request: FastifyRequest): Promise<AppError> {
  if (!isApi(request.url)) return new AppError("not_found");
  const key = presentedKey(request.raw.rawHeaders);
  if (key === null || !(await authenticate(key))) return new AppError("unauthorized");
  return new AppError(request.url.startsWith(`${API}/sessions/`) ? "session_not_found" : "not_found");
}

function isPublic(request: FastifyRequest, config: FastifyContextConfig): boolean {
  if (!request.is404) return config.public === true;
  return !isApi(request.url) || pathOf(request.url) === `${API}/docs`;
}

const isApi = (url: string): boolean => url.startsWith(API) && (url.length === API.length || "/?".includes(url[API.length]!));

function scopeError({ principal, params }: FastifyRequest, config: FastifyContextConfig): AppError | undefined {
  if (config.public) return undefined;
  if (principal.token) return tokenError(principal.token, config.tokenScope ?? null, (params as { id?: string }).id);
  if (config.scope === undefined || includesScope(principal.scope, config.scope)) return undefined;
  return new AppError("insufficient_scope");
}

// A token is for the calls of its own session, and only for those that its scopes name.
function tokenError(token: SessionAccess, scope: CallScope, sessionId: string | undefined): AppError | undefined {
  if (!token.allows(scope)) return new AppError("insufficient_scope");
  // A route whose path names no session finds it in the body, and checks it itself.
  if (sessionId === undefined) return undefined;
  return token.only?.sessionId === sessionId ? undefined : new AppError("session_not_found");
}

function noRouteError(routes: KnownRoute[], request: FastifyRequest, reply: FastifyReply): AppError {
  const path = pathOf(request.url);
  const route = routes.find(({ pattern }) => pattern.test(path));
  if (!route) return new AppError("not_found");
  reply.header("allow", [...route.methods].join(", "));
  return new AppError("method_not_allowed");
}

function pathOf(url: string): string {
  const end = url.indexOf("?");
  const path = end < 0 ? url : url.slice(0, end);
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

interface KnownRoute {
  url: string;
  pattern: RegExp;
  methods: Set<string>;
}

function collectRoutes(app: FastifyInstance): KnownRoute[] {
  const routes: KnownRoute[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    let route = routes.find((known) => known.url === url);
    if (!route) {
      const pattern = new RegExp(`^${url.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/]+")}$`);
      routes.push((route = { url, pattern, methods: new Set() }));
    }
    for (const one of [method].flat()) route.methods.add(one);
  });
  return routes;
}
