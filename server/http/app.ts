import { fastify, type FastifyInstance } from "fastify";
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
import type { CallsUnderWay } from "../sessions/calls-under-way.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Snapshots } from "../sessions/snapshots/snapshots.ts";
import type { OwnKeys } from "../keys/own-keys.ts";
import type { Store } from "../store/open.ts";
import type { UsageReports } from "../usage/usage-reports.ts";
import type { Tracer } from "../tracing/tracer.ts";
import { addConsole, type ConsoleDeps } from "./console/console.ts";
import { addClientRoutes } from "./docs/client-routes.ts";
import { addDocsRoutes } from "./docs/docs-routes.ts";
import { admitRequests, badUrlError } from "./limits/admission.ts";
import type { Authenticate } from "./limits/authentication.ts";
import { createMemoryBuckets } from "./limits/memory-buckets.ts";
import { startInTurn } from "./limits/partner-turns.ts";
import { createSharedBuckets } from "./limits/shared-buckets.ts";
import { addStartPage } from "./start-page/start-page-routes.ts";
import { addHealth, type HealthDeps } from "./operations/health.ts";
import { addMetrics } from "./operations/metrics.ts";
import { logRequests } from "./operations/request-log.ts";
import { watchCalls } from "./operations/watch-calls.ts";
import { labelRouteWork } from "./operations/route-work.ts";
import { replyWithError } from "./requests/fastify-errors.ts";
import { watchConnections } from "./requests/closing-connections.ts";
import { createListener, type Mount } from "./requests/listener.ts";
import { readBodies } from "./requests/request-body.ts";
import type { Templates } from "../templates.ts";
import { nextRequestId } from "./requests/request-id.ts";
import { addEventRoutes } from "./routes/event-routes.ts";
import { openIdempotency, type Idempotency } from "./requests/idempotency.ts";
import { addKeyRoutes } from "./routes/key-routes.ts";
import { addRunRoutes, type RunRouteDeps } from "./routes/run-routes.ts";
import { addSessionRoutes, type SessionRouteDeps } from "./routes/session-routes.ts";
import { addSnapshotRoutes } from "./routes/snapshot-routes.ts";
import { addTokenRoutes, type TokenRouteDeps } from "./routes/token-routes.ts";
import { addUsageRoutes } from "./routes/usage-routes.ts";
import { addVolumeRoutes, type VolumeRouteDeps } from "./routes/volume-routes.ts";
import { addWebhookRoutes } from "./routes/webhook-routes.ts";
import { compileSerializersLater } from "./serializers.ts";

export interface AppDeps {
  sessions: Sessions;
  snapshots: Snapshots;
  runs: RunRouteDeps["runs"];
  relayStream: RunRouteDeps["relayStream"];
  authenticate: Authenticate;
  tickets: Pick<Tickets, "issueLaunchUrl">;
  calls: CallsUnderWay;
  feed: Feed;
  endpoints: Endpoints;
  ownKeys: OwnKeys;
  sessionTokens: TokenRouteDeps["sessionTokens"];
  issuePreviewUrl: TokenRouteDeps["issuePreviewUrl"];
  readSshHostKey: TokenRouteDeps["readSshHostKey"];
  usage: UsageReports;
  volumes: VolumeRouteDeps["volumes"];
  templates: Pick<Templates, "get" | "keys">;
  store: Store;
  secrets: Pick<Secrets, "seal" | "open">;
  clock: Clock;
  log: Log;
  // Identifies this server across restarts; no two servers share it.
  host: string;
  // Has no trailing slash.
  baseUrl: string;
  servers: SessionRouteDeps["servers"];
  // Requests per minute and key, for partners without a limit of their own; 0 means unlimited.
  ratePerMinute: number;
  // The partner whose sessions the person at this machine may open without a key. null if other machines can reach the server.
  localPartner: string | null;
  // Absent: there is no console.
  console?: ConsoleDeps;
  // The Prometheus metrics of the whole server.
  registry: Registry;
  metricsToken: string | null;
  // Absent: spans are not exported.
  tracer?: Tracer;
  disk?: HealthDeps["disk"];
  // Decides when each partner's next request starts.
  turns?: FairTurns;
  // Whether X-Forwarded-For of this address names the caller. Absent: of none.
  isTrustedProxy?: (address: string) => boolean;
  // Other APIs over the same services (server/facades/).
  addFacades?: (app: FastifyInstance, idempotency: Idempotency) => void;
  // The gateway: it handles its requests before the API sees them.
  mount?: Mount;
  // How long requests in flight may take when the server stops.
  closeMs: number;
  // For how long a stopping server waits for the next request on a connection that is open.
  quietMs: number;
  // Absent: no limit.
  maxConnections?: number;
}

export interface App extends AsyncDisposable {
  listen(address: { host: string; port: number }): Promise<AddressInfo>;
  // Makes /readyz fail, so that a load balancer stops sending requests. Disposing waits for requests in flight.
  drain(): void;
  // Accepts no more connections. A request on one that is open is answered and ends it. Resolves when all others are closed.
  quieten(): Promise<void>;
}

// The partner API, health checks, metrics and docs. Fastify is known only in this folder.
export async function createApp(deps: AppDeps): Promise<App> {
  const { authenticate, store, clock, log, tracer } = deps;
  let draining = false;
  const app = fastify({
    logger: false,
    genReqId: nextRequestId,
    trustProxy: deps.isTrustedProxy ?? false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 64 * 1024 },
    bodyLimit: MAX_BODY_BYTES,
    // During shutdown, requests on connections that are already open are served as usual.
    return503OnClosing: false,
    frameworkErrors(_error, request, reply) {
      reply.header("x-request-id", request.id);
      const replyWith = (error: unknown) => replyWithError(log, error, request, reply);
      badUrlError(authenticate, request).then(replyWith, replyWith);
    },
    serverFactory: (handler) => createListener(handler, deps.mount, { log, tracer }),
  });

  compileSerializersLater(app);
  const connections = watchConnections(app.server, deps);
  app.setErrorHandler((error, request, reply) => replyWithError(log, error, request, reply));
  const buckets = store.engine === "postgres" ? createSharedBuckets(store, clock, log) : createMemoryBuckets(clock);
  labelRouteWork(app);
  const watch = watchCalls(app, deps.calls);
  admitRequests(app, { ...deps, buckets });
  startInTurn(app, deps.turns);
  readBodies(app);
  logRequests(watch, log);
  addMetrics(app, watch, deps);
  addHealth(app, { store, disk: deps.disk, isDraining: () => draining });
  const idempotency = await openIdempotency(deps);
  addSessionRoutes(app, { ...deps, idempotency });
  addTokenRoutes(app, { ...deps, idempotency });
  addRunRoutes(app, { ...deps, idempotency });
  addSnapshotRoutes(app, { ...deps, idempotency });
  addEventRoutes(app, deps);
  addWebhookRoutes(app, { ...deps, idempotency });
  addKeyRoutes(app, { ...deps, idempotency });
  addUsageRoutes(app, deps);
  addVolumeRoutes(app, { ...deps, idempotency });
  addStartPage(app, deps);
  deps.addFacades?.(app, idempotency);
  if (deps.console) addConsole(app, deps, deps.console);
  addDocsRoutes(app, { baseUrl: deps.baseUrl, templates: deps.templates.keys() });
  addClientRoutes(app);
  await app.ready();

  return {
    async listen(address) {
      await app.listen(address).catch((error: unknown) => explainAddress(address.host, error));
      return app.server.address() as AddressInfo;
    },
    drain: () => void (draining = true),
    quieten: connections.quieten,
    async [Symbol.asyncDispose]() {
      draining = true;
      using _closing = connections.begin(deps.closeMs);
      await app.close();
    },
  };
}

const NO_OWN_ADDRESS = new Set<unknown>(["ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL"]);

function explainAddress(host: string, error: unknown): never {
  if (!NO_OWN_ADDRESS.has((error as NodeJS.ErrnoException).code)) throw error;
  throw new Error(`BERTH_HOST: ${host} is no address of this machine. Use 127.0.0.1, or 0.0.0.0 for all addresses.`, { cause: error });
}
