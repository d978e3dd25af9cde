import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "@berth/contract";
import { hideMediaType } from "../requests/request-body.ts";
import { presentedKey, type Authenticate, type Principal } from "./authentication.ts";
import { applyAllowance, type Buckets } from "./rate-limit.ts";

// What every request passes before anything else looks at it: the key first, then its rate, then whether there is such a
// path and such a method on it. Runs before the body is read, so nobody without a key learns more than that.

const API = "/api/b2b";

export interface AdmissionDeps {
  authenticate: Authenticate;
  buckets: Buckets;
  // For partners that have no limit of their own; 0 is none.
  ratePerMinute: number;
}

export function admitRequests(app: FastifyInstance, { authenticate, buckets, ratePerMinute }: AdmissionDeps): void {
  const paths = collectPaths(app);
  app.decorateRequest("principal");

  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    hideMediaType(request);
    if (isPublic(request)) return done(request.is404 ? unknownPath(paths, request, reply) : undefined);
    reply.header("cache-control", "no-store");
    const admit = (principal: Principal | null): void => {
      if (!principal) return done(new AppError("unauthorized"));
      request.principal = principal;
      const perMinute = principal.partner.ratePerMinute ?? ratePerMinute;
      if (perMinute === 0) return allow(undefined);
      const allowance = buckets.take(principal.keyId, perMinute);
      if (allowance instanceof Promise) allowance.then((known) => allow(applyAllowance(reply, perMinute, known)), done);
      else allow(applyAllowance(reply, perMinute, allowance));
    };
    const allow = (refusal: AppError | undefined): void =>
      done(refusal ?? (request.is404 ? unknownPath(paths, request, reply) : undefined));
    const key = presentedKey(request.raw.rawHeaders);
    if (key === null) return admit(null);
    const found = authenticate(key);
    if (found instanceof Promise) found.then(admit, done);
    else admit(found);
  });
}

// A path that cannot be decoded never reaches the router, but it is answered in the same order.
export async function answerBadUrl(authenticate: Authenticate, request: FastifyRequest): Promise<AppError> {
  if (!isApi(request.url)) return new AppError("not_found");
  const key = presentedKey(request.raw.rawHeaders);
  if (key === null || !(await authenticate(key))) return new AppError("unauthorized");
  return new AppError(request.url.startsWith(`${API}/sessions/`) ? "session_not_found" : "not_found");
}

function isPublic(request: FastifyRequest): boolean {
  if (!request.is404) return request.routeOptions.config.public === true;
  return !isApi(request.url) || pathOf(request.url) === `${API}/docs`;
}

const isApi = (url: string): boolean => url.startsWith(API) && (url.length === API.length || "/?".includes(url[API.length]!));

function unknownPath(paths: KnownPath[], request: FastifyRequest, reply: FastifyReply): AppError {
  const path = pathOf(request.url);
  const known = paths.find(({ pattern }) => pattern.test(path));
  if (!known) return new AppError("not_found");
  reply.header("allow", [...known.methods].join(", "));
  return new AppError("method_not_allowed");
}

function pathOf(url: string): string {
  const end = url.indexOf("?");
  const path = end < 0 ? url : url.slice(0, end);
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

interface KnownPath {
  url: string;
  pattern: RegExp;
  methods: Set<string>;
}

function collectPaths(app: FastifyInstance): KnownPath[] {
  const paths: KnownPath[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    let known = paths.find((path) => path.url === url);
    if (!known) {
      const pattern = new RegExp(`^${url.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/]+")}$`);
      paths.push((known = { url, pattern, methods: new Set() }));
    }
    for (const one of [method].flat()) known.methods.add(one);
  });
  return paths;
}
