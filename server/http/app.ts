import { fastify } from "fastify";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import { MAX_BODY_BYTES } from "@berth/contract";
import type { Clock } from "../clock.ts";
import type { FairTurns } from "../event-loop/fair-turns.ts";
import type { Feed } from "../events/feed.ts";
import type { Endpoints } from "../events/webhooks/endpoints.ts";
import type { Tickets } from "../gateway/access/launch-ticket.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Store } from "../store/open.ts";
import { addDocsRoutes } from "./docs/docs-routes.ts";
import { admitRequests, answerBadUrl } from "./limits/admission.ts";
import type { Authenticate, Principal } from "./limits/authentication.ts";
import { createMemoryBuckets } from "./limits/memory-buckets.ts";
import { startInTurn } from "./limits/partner-turns.ts";
import { createSharedBuckets } from "./limits/shared-buckets.ts";
import { addHealth } from "./operations/health.ts";
import { addMetrics } from "./operations/metrics.ts";
import { logRequests } from "./operations/request-log.ts";
import { markRoutes } from "./operations/route-work.ts";
import { replyWithError } from "./requests/fastify-errors.ts";
import { createListener, type Mount } from "./requests/listener.ts";
import { readBodies } from "./requests/request-body.ts";
import { nextRequestId } from "./requests/request-id.ts";
import { addEventRoutes } from "./routes/event-routes.ts";
import { openIdempotency } from "./routes/idempotency.ts";
import { addSessionRoutes } from "./routes/session-routes.ts";
import { addWebhookRoutes } from "./routes/webhook-routes.ts";

// The partner API and everything else that is plain HTTP. Fastify is known only in this folder.

export interface AppDeps {
  sessions: Sessions;
  authenticate: Authenticate;
  tickets: Pick<Tickets, "issueLaunchUrl">;
  feed: Feed;
  endpoints: Endpoints;
  templates: { has(name: string): boolean };
  store: Store;
  secrets: Pick<Secrets, "seal" | "open">;
  clock: Clock;
  log: Log;
  // The name of this server and of those that ran here before it; no other has it.
  host: string;
  // Without a slash at the end.
  baseUrl: string;
  // Requests a minute for each key of a partner that has no limit of its own; 0 is none.
  ratePerMinute: number;
  // Where the numbers of every part of the server are kept.
  registry: Registry;
  metricsToken: string | null;
  // In which the requests of partners are started.
  turns?: FairTurns;
  // Takes its requests before the API sees them: the gateway.
  mount?: Mount;
}

export interface App extends AsyncDisposable {
  listen(address: { host: string; port: number }): Promise<AddressInfo>;
  // From here on /readyz says no, so that a balancer looks elsewhere. Disposing lets the requests in flight finish.
  drain(): void;
}

declare module "fastify" {
  interface FastifyRequest {
    // Set before the handler of every route that is not public.
    principal: Principal;
    // The bytes of the body; null when there was none.
    rawBody: Buffer | null;
    bodyType: string | undefined;
  }
  interface FastifyContextConfig {
    public?: true;
    // Asked every other second by whoever watches the server.
    probe?: true;
  }
}

export async function createApp(deps: AppDeps): Promise<App> {
  const { authenticate, store, clock, log } = deps;
  let draining = false;
  const app = fastify({
    logger: false,
    genReqId: nextRequestId,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 64 * 1024 },
    bodyLimit: MAX_BODY_BYTES,
    // A request that comes over a living connection during the shutdown is answered like any other.
    return503OnClosing: false,
    frameworkErrors(_error, request, reply) {
      reply.header("x-request-id", request.id);
      void answerBadUrl(authenticate, request).then((error) => replyWithError(log, error, request, reply));
    },
    serverFactory: (handler) => createListener(handler, deps.mount, { log }),
  });

  app.setErrorHandler((error, request, reply) => replyWithError(log, error, request, reply));
  const buckets = store.engine === "postgres" ? createSharedBuckets(store, clock, log) : createMemoryBuckets(clock);
  markRoutes(app);
  admitRequests(app, { ...deps, buckets });
  startInTurn(app, deps.turns);
  readBodies(app);
  logRequests(app, log);
  addMetrics(app, deps);
  addHealth(app, { store, isDraining: () => draining });
  const idempotency = await openIdempotency(deps);
  addSessionRoutes(app, { ...deps, idempotency });
  addEventRoutes(app, deps);
  addWebhookRoutes(app, { ...deps, idempotency });
  addDocsRoutes(app, deps.baseUrl);
  await app.ready();

  return {
    async listen(address) {
      await app.listen(address);
      return app.server.address() as AddressInfo;
    },
    drain: () => void (draining = true),
    async [Symbol.asyncDispose]() {
      draining = true;
      // A connection that was busy when the close began is kept alive after its answer unless somebody ends it.
      const sweep = setInterval(() => app.server.closeIdleConnections(), 50);
      await app.close().finally(() => clearInterval(sweep));
    },
  };
}
