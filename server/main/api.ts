import { join } from "node:path";
import { SECOND } from "../clock.ts";
import { readSshHostKey } from "../daemon-link/ssh-host-key.ts";
import { describeImage } from "../drivers/describe-image.ts";
import { examineServer } from "../doctor/examine-server.ts";
import { createFeed } from "../events/feed.ts";
import { openWebhooks } from "../events/webhooks/open-webhooks.ts";
import { addMcp } from "../facades/mcp/mcp.ts";
import { createApp, type App, type AppDeps } from "../http/app.ts";
import { createApiAuthentication } from "../keys/authenticate-session.ts";
import { createConsoleLogins } from "../keys/console/console-logins.ts";
import { openOidc } from "../keys/console/open-oidc.ts";
import { createOwnKeys } from "../keys/own-keys.ts";
import { readMachine, readServerMetrics } from "../metrics/console-reading.ts";
import { registerWebhookMetrics } from "../metrics/webhook-metrics.ts";
import { maxConnectionsFor } from "../open-files.ts";
import { isAtSite } from "../store/sessions/session.ts";
import { readBacklog } from "../store/webhooks/backlog.ts";
import { readNow } from "../usage/sandbox-meter.ts";
import { createUsageReports } from "../usage/usage-reports.ts";
import { WEB_FOLDER, type Doors } from "./doors.ts";
import type { Foundation } from "./foundation.ts";
import type { SessionWork } from "./session-work.ts";

// How long requests in flight may take when the server stops: less than the whole stop (cli/commands/installation/serve.ts).
const CLOSE_MS = { local: 10 * SECOND, cluster: 45 * SECOND };
// Longer than a request is on its way, and than busy clients wait between two.
const QUIET_MS = 500;

// The HTTP API with everything that only it offers: events and webhooks, usage, MCP and the console.
export async function openApi(foundation: Foundation, work: SessionWork, doors: Doors, opening: AsyncDisposableStack): Promise<App> {
  const { config, log, clock, registry, hostName, site, templates, store, secrets, driver, disk, baseUrl, servers, links } = foundation;
  const { localPartner, openFiles } = foundation;
  const { services, volumes, tracer } = work;
  const { sessions, snapshots, runs } = services;
  const { keys, sessionTokens, tickets, isTrustedProxy, e2b, gateway, issuePreviewUrl } = doors;
  const { endpoints } = openEvents(foundation, work, opening);
  const feed = opening.use(createFeed({ store, sessions, clock }));
  return opening.use(
    await createApp({
      sessions,
      snapshots,
      runs,
      calls: services.calls,
      relayStream: gateway.relayStream,
      authenticate: createApiAuthentication({ keys, tokens: sessionTokens }),
      sessionTokens,
      issuePreviewUrl,
      readSshHostKey: async ({ host, sandboxId }) => (host === site.host ? readSshHostKey(links, sandboxId) : null),
      isTrustedProxy,
      tickets,
      feed,
      endpoints,
      ownKeys: createOwnKeys({ store, clock, onChange: keys.forget }),
      usage: createUsageReports({ store, clock, prices: config }),
      volumes,
      addFacades: (api, idempotency) => {
        e2b?.addRoutes(api);
        addMcp(api, {
          sessions,
          snapshots,
          runs,
          templates,
          servers,
          store,
          idempotency,
          issuePreviewUrl,
          baseUrl,
          clock,
          log,
          parts: gateway.parts,
        });
      },
      templates,
      store,
      secrets,
      clock,
      log,
      host: hostName,
      baseUrl,
      servers,
      disk,
      registry,
      metricsToken: config.metricsToken,
      tracer,
      ratePerMinute: config.ratePerMinute,
      localPartner,
      console: consoleDeps(foundation, work, doors),
      mount: gateway,
      maxConnections: maxConnectionsFor(openFiles),
      closeMs: CLOSE_MS[driver.traits.hostBound ? "local" : "cluster"],
      quietMs: QUIET_MS,
    }),
  );
}

// Webhooks are sent as soon as something has happened.
function openEvents(
  { config, log, clock, registry, store, secrets }: Foundation,
  { services, tracer }: SessionWork,
  opening: AsyncDisposableStack,
) {
  const observer = registerWebhookMetrics(registry, { readBacklog: () => readBacklog(store.db, clock.now()), nowMs: clock.now });
  const webhooks = opening.use(openWebhooks({ store, secrets, clock, log, allowPrivate: config.webhookAllowPrivate, observer, tracer }));
  opening.use(services.sessions.onChange(({ partnerId }) => webhooks.wake(partnerId)));
  opening.use(services.snapshots.onEvent(webhooks.wake));
  return webhooks;
}

function consoleDeps(
  { config, clock, registry, site, store, driver, disk, baseUrl }: Foundation,
  { services, sandboxMeter }: SessionWork,
  { keys, sessionTokens }: Doors,
): AppDeps["console"] {
  const oidc = openOidc(config, baseUrl);
  return {
    logins: createConsoleLogins({ store, clock, authenticate: keys.authenticate, hasRule: (rule) => oidc?.hasRule(rule) ?? false }),
    oidc,
    forgetKeys() {
      keys.forget();
      sessionTokens.forget();
    },
    pageFile: join(WEB_FOLDER, "console.html"),
    readServer: async () => ({
      driver: driver.name,
      ...(await readServerMetrics(registry)),
      machine: { ...(await readMachine(config.dataDir)), disk: disk?.level() ?? "enough" },
    }),
    readStats: (session) => (isAtSite(session, site) ? readNow(sandboxMeter, session) : Promise.resolve(null)),
    poolTargets: services.pool.targets,
    imageState: (image) => describeImage(driver.images?.stateOf?.(image)),
    examine: () => examineServer(config, { store, driver, site }),
  };
}
