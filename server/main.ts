import { join } from "node:path";
import { Registry } from "prom-client";
import { SECOND, systemClock, type Clock } from "./clock.ts";
import { baseUrlOf, isForThisMachine, previewDomainOf, type Config } from "./config/config.ts";
import { examineServer } from "./doctor/examine-server.ts";
import { watchCanary } from "./doctor/watch-canary.ts";
import type { Driver } from "./drivers/driver.ts";
import { openDriver } from "./drivers/index.ts";
import { createUpstreamDial } from "./egress/dial-upstream.ts";
import { openEgress } from "./egress/open-egress.ts";
import { createFeed } from "./events/feed.ts";
import { createE2b } from "./facades/e2b/e2b.ts";
import { addMcp } from "./facades/mcp/mcp.ts";
import { openWebhooks } from "./events/webhooks/open-webhooks.ts";
import { createGateway } from "./gateway/gateway.ts";
import { createTickets } from "./gateway/access/launch-ticket.ts";
import { openDiskWatch } from "./data-folder/disk-watch.ts";
import { claimHost } from "./data-folder/claim-host.ts";
import { callerAddress, createProxyTrust } from "./network/caller-address.ts";
import { freePort } from "./network/free-port.ts";
import { createApp } from "./http/app.ts";
import { presentedKey } from "./http/limits/authentication.ts";
import type { TokenRouteDeps } from "./http/routes/token-routes.ts";
import { createAuthenticator } from "./keys/authenticate.ts";
import { createApiAuthentication, createSessionAuthentication } from "./keys/authenticate-session.ts";
import { createConsoleLogins } from "./keys/console-logins.ts";
import { openOidc } from "./keys/open-oidc.ts";
import { createOwnKeys } from "./keys/own-keys.ts";
import { createSessionTokens } from "./keys/session-tokens.ts";
import { createVolumes } from "./sessions/volumes/volumes.ts";
import { checkMasterKey } from "./keys/check-master-key.ts";
import { readPartner } from "./keys/partners.ts";
import { DEMO_PARTNER, seedDemo } from "./keys/seed.ts";
import { describeLowLimit, maxConnectionsFor, readOpenFileLimit } from "./open-files.ts";
import { createDaemonLinks } from "./daemon-link/daemon-links.ts";
import { readSshHostKey } from "./daemon-link/ssh-host-key.ts";
import { withNews } from "./daemon-link/link-news.ts";
import type { Log } from "./log.ts";
import { createLoopWatch } from "./event-loop/loop-watch.ts";
import { loadMasterKeys } from "./secrets/master-key.ts";
import { readMachine, readServerMetrics } from "./metrics/console-reading.ts";
import { registerDiskMetrics } from "./metrics/disk-metrics.ts";
import { registerProcessMetrics } from "./metrics/process-metrics.ts";
import { registerQuotaMetrics } from "./metrics/quota-metrics.ts";
import { registerRelayMetrics } from "./metrics/relay-metrics.ts";
import { registerPoolMetrics, registerSessionMetrics } from "./metrics/session-metrics.ts";
import { registerWebhookMetrics } from "./metrics/webhook-metrics.ts";
import { createModelRelay } from "./relays/model/model-relay.ts";
import { joinRelays } from "./relays/relays.ts";
import { createSessionRelays } from "./relays/session/session-relay.ts";
import { createEgressLog } from "./session-logs/egress-log.ts";
import { createOpeningLog } from "./session-logs/opening-log.ts";
import { createSecrets } from "./secrets/secrets.ts";
import { matchStore } from "./sessions/quarantine/match-store.ts";
import { createSessionRecords, NO_RECORDS } from "./sessions/quarantine/session-records.ts";
import { createTokenOf } from "./sessions/sandbox-token.ts";
import { openServerDirectory } from "./sessions/server-directory.ts";
import { createSessionServices } from "./sessions/session-services.ts";
import { createRelayDirectory } from "./sessions/relays/relay-directory.ts";
import { openStore } from "./store/open.ts";
import { hasPartners } from "./store/partners/partners.ts";
import { createSettingsStore } from "./store/partners/user-settings.ts";
import { hasSupportVisit } from "./store/session-logs/openings.ts";
import { countByState, readQuotaUse } from "./store/sessions/count.ts";
import { currentEgress } from "./store/sessions/live-limits.ts";
import { runningAmong, runningSandboxes } from "./store/sessions/read.ts";
import { isAtSite } from "./store/sessions/session.ts";
import { readBacklog } from "./store/webhooks/backlog.ts";
import { loadTemplates } from "./templates.ts";
import { createSandboxMeter, readNow } from "./usage/sandbox-meter.ts";
import { createUsageSampler } from "./usage/usage-sampler.ts";
import { createUsageReports } from "./usage/usage-reports.ts";
import { openTracing } from "./tracing/open-tracing.ts";

export interface Server {
  url: string;
  driver: Pick<Driver, "name" | "traits">;
  // The API key of the partner `demo`, at the first start only.
  demo: { partnerId: string; key: string; file: string } | null;
  // Whether the page at `url` opens workspaces for the person at this machine.
  opensWorkspaces: boolean;
  // Waits for requests in flight. Sandboxes keep running.
  close(): Promise<void>;
  // The work that a close waits for, in words for the operator.
  unfinished(): string[];
}

export interface ServerOptions {
  log: Log;
  // How many lines of the log were dropped so far.
  droppedLogLines: () => number;
  clock?: Clock;
  // Start even if the store does not know the sandboxes in use.
  quarantineUnknown?: boolean;
}

const STEP_TIMEOUT_MS = { local: 45 * SECOND, cluster: 120 * SECOND };
// How long requests in flight may take when the server stops: less than the whole stop (cli/commands/installation/serve.ts).
const CLOSE_MS = { local: 10 * SECOND, cluster: 45 * SECOND };
// Longer than a request is on its way, and than busy clients wait between two.
const QUIET_MS = 500;
const MEMORY_RESERVE_BYTES = 512 * 1024 * 1024;
// A cluster has no such default, because a warm pod reserves all that its template may use.
const POOL_MAX = 100;
const WEB_FOLDER = join(import.meta.dirname, "../web/dist");

// Builds the whole service and starts it. Every part with a resource goes on the stack, which closes them in reverse order.
export async function startServer(
  config: Config,
  { log, droppedLogLines, clock = systemClock, quarantineUnknown = false }: ServerOptions,
): Promise<Server> {
  await using opening = new AsyncDisposableStack();

  const { dataDir, quarantineMs } = config;
  const host = opening.use(await claimHost(dataDir));
  const storeFile = join(dataDir, "berth.db");
  const openFiles = readOpenFileLimit();
  const lowLimit = describeLowLimit(openFiles);
  if (lowLimit !== undefined) log.warn("server.few_open_files", { message: lowLimit });
  const templates = loadTemplates(config.templatesFile ?? undefined);
  const store = opening.use(await openStore({ url: config.databaseUrl, file: storeFile, log }));
  const secrets = createSecrets(await loadMasterKeys(config, { isNewStore: !(await hasPartners(store.db)) }));
  await checkMasterKey(store.db, secrets, config);
  const driver = opening.use(await openDriver(config, log, { templates, secrets }));
  const files = { dataDir, storeFile: config.databaseUrl === null ? storeFile : null };
  const watched = { ...files, reserveMib: config.diskReserveMib, unwrittenBytes: driver.unwrittenBytes, clock, log };
  const disk = driver.traits.hostBound ? opening.use(await openDiskWatch(watched)) : undefined;
  const site = { driver: driver.name, host: driver.traits.hostBound ? host.name : null };
  const records = driver.traits.hostBound ? createSessionRecords(dataDir, log) : NO_RECORDS;
  await matchStore({ store, driver, records, site, quarantineMs, dataDir, log }, { quarantineUnknown });
  // This comes after the checks above, because a refused start must not replace the key of the right store.
  const demo = await seedDemo({ store, clock, config });
  // Needed before the server listens, because launch URLs contain it.
  const port = config.port === 0 ? await freePort(config.host) : config.port;
  const baseUrl = baseUrlOf(config, port);
  const ownPorts = [port, ...(config.egressListen === null ? [] : [Number(config.egressListen.split(":").at(-1))])];
  const servers = opening.use(await openServerDirectory({ store, host: site.host, baseUrl, clock, log }));
  const tokenOf = createTokenOf({ store, secrets, site, servers });
  const links = opening.use(withNews(createDaemonLinks({ driver, tokenOf, log })));

  const model = createModelRelay({ config, templates, secrets, store, clock, log, env: process.env });
  const registry = new Registry();
  const sessionRelays = createSessionRelays({
    onRelayed: registerRelayMetrics(registry),
    find: createRelayDirectory({ store, secrets, templates, env: process.env }),
    dial: createUpstreamDial({ allow: config.egressAllow, ownPorts }),
    secrets,
    log,
  });
  const egress = opening.use(
    await openEgress({
      config,
      driver,
      ownPorts,
      running: (sandboxIds) => runningAmong(store.db, sandboxIds),
      currentEgress: (sandboxIds) => currentEgress(store.db, sandboxIds),
      clock,
      secrets,
      templates,
      log,
      onRelay: joinRelays([model, sessionRelays]),
    }),
  );
  const { tracer } = opening.use(openTracing({ config, driver: driver.name, registry, log }));
  registerProcessMetrics(registry, { driver: driver.name, egress, droppedLogLines });
  const observer = registerSessionMetrics(registry, { driver: driver.name, countSessions: () => countByState(store.db) });
  if (disk) registerDiskMetrics(registry, disk);
  registerQuotaMetrics(registry, () => readQuotaUse(store.db));

  opening.use(createEgressLog({ store, egress, clock, log }));
  const sandboxMeter = createSandboxMeter({ driver, links, templates });
  const meter = opening.use(createUsageSampler({ store, meter: sandboxMeter, site, egress, clock, log }));
  const sessionServices = opening.use(
    createSessionServices({
      store,
      driver,
      links,
      egress,
      meter,
      templates,
      modelEnv: model.env,
      relayAccess: sessionRelays.access,
      secrets,
      clock,
      log,
      host: site.host,
      servers,
      disk,
      rules: config,
      records,
      capacity: { maxSandboxes: config.maxSandboxes ?? Infinity, reserveBytes: MEMORY_RESERVE_BYTES },
      snapshotLimits: {
        maxSnapshots: config.maxSnapshots,
        maxSnapshotBytes: config.maxSnapshotMib * 2 ** 20,
        snapshotRetentionMs: config.snapshotRetentionMs,
      },
      poolSize: config.poolSize,
      poolMax: config.poolMax ?? (driver.traits.hostBound ? POOL_MAX : config.poolSize),
      observer,
      stepTimeoutMs: driver.traits.hostBound ? STEP_TIMEOUT_MS.local : STEP_TIMEOUT_MS.cluster,
    }),
  );
  const { sessions, snapshots, runs } = sessionServices;
  registerPoolMetrics(registry, sessionServices.pool);

  const openings = opening.use(createOpeningLog({ store, site, clock, log }));
  const keys = opening.use(createAuthenticator({ store, clock, log }));
  const sessionTokens = createSessionTokens({ store, secrets, clock });
  const authenticateSession = createSessionAuthentication({ keys, tokens: sessionTokens });
  const tickets = createTickets({ secrets, baseUrl, ttlMs: config.launchTtlMs, clock });
  const isTrustedProxy = createProxyTrust(config.trustedProxies);
  const localPartner = isForThisMachine(config, baseUrl) ? DEMO_PARTNER : null;
  const previewDomain = previewDomainOf(config, baseUrl);
  const volumes = createVolumes({
    store,
    driver,
    site,
    clock,
    limits: { volumes: config.maxVolumes, volumesMb: config.maxVolumesGb * 1024 },
  });
  const hasE2b = config.facades === "e2b" || (config.facades === "auto" && isForThisMachine(config, baseUrl));
  const e2b = hasE2b
    ? createE2b({
        sessions,
        snapshots,
        volumes,
        templates,
        hibernate: sessionServices.hibernate,
        running: () => runningSandboxes(store.db),
        readStats: (session) => (session.host === site.host ? readNow(sandboxMeter, session) : Promise.resolve(null)),
        secrets,
        previewDomain,
        clock,
        log,
      })
    : null;
  const gateway = createGateway({
    sessions,
    findPartner: (id) => readPartner(store, id),
    hasSupportVisit: (sessionId) => hasSupportVisit(store.db, sessionId, clock.now()),
    authenticate: async ({ rawHeaders }) => {
      const bearer = presentedKey(rawHeaders);
      return bearer === null ? null : authenticateSession(bearer);
    },
    authenticateSession,
    links,
    activity: sessionServices.activity,
    tickets,
    openings,
    addressOf: (request) => callerAddress(request, isTrustedProxy),
    settingsStore: createSettingsStore(store, clock),
    secrets,
    registry,
    clock,
    log,
    baseUrl,
    previewDomain,
    ...(e2b && { facade: { open: e2b.facade, guests: e2b.guests } }),
    maxShareHours: config.maxShareHours,
    appFolder: WEB_FOLDER,
  });
  const issuePreviewUrl: TokenRouteDeps["issuePreviewUrl"] = async (session, preview) => {
    if (session.host !== site.host) throw await servers.elsewhere(session);
    return gateway.issuePreviewUrl(session, preview);
  };
  const oidc = openOidc(config, baseUrl);
  const allowPrivate = config.webhookAllowPrivate;
  const webhookMetrics = registerWebhookMetrics(registry, { readBacklog: () => readBacklog(store.db, clock.now()), nowMs: clock.now });
  const webhooks = opening.use(openWebhooks({ store, secrets, clock, log, allowPrivate, observer: webhookMetrics, tracer }));
  opening.use(sessions.onChange(({ partnerId }) => webhooks.wake(partnerId)));
  opening.use(snapshots.onEvent(webhooks.wake));
  const feed = opening.use(createFeed({ store, sessions, clock }));
  const app = opening.use(
    await createApp({
      sessions,
      snapshots,
      runs,
      relayStream: gateway.relayStream,
      authenticate: createApiAuthentication({ keys, tokens: sessionTokens }),
      sessionTokens,
      issuePreviewUrl,
      readSshHostKey: async ({ host: owner, sandboxId }) => (owner === site.host ? readSshHostKey(links, sandboxId) : null),
      isTrustedProxy,
      tickets,
      feed,
      endpoints: webhooks.endpoints,
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
      host: host.name,
      baseUrl,
      servers,
      disk,
      registry,
      metricsToken: config.metricsToken,
      tracer,
      ratePerMinute: config.ratePerMinute,
      localPartner,
      console: {
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
          machine: { ...(await readMachine(dataDir)), disk: disk?.level() ?? "enough" },
        }),
        readStats: (session) => (isAtSite(session, site) ? readNow(sandboxMeter, session) : Promise.resolve(null)),
        poolTargets: sessionServices.pool.targets,
        examine: () => examineServer(config, { store, driver, site }),
      },
      mount: gateway,
      maxConnections: maxConnectionsFor(openFiles),
      closeMs: CLOSE_MS[driver.traits.hostBound ? "local" : "cluster"],
      quietMs: QUIET_MS,
    }),
  );
  // Closed before the app, which waits for requests in flight: WebSockets and event streams do not end by themselves.
  opening.use(gateway);

  // Callers may wait for answers from here on.
  opening.use(createLoopWatch({ log, registry }));
  await sessionServices.start();
  await app.listen({ host: config.host, port });
  opening.use(watchCanary(config, driver.name, log));
  const closing = opening.move();
  const close = async () => {
    // First, so that load balancers stop sending requests, and while everything still works: clients send requests on open
    // connections until a response ends them.
    app.drain();
    await app.quieten();
    await closing.disposeAsync();
  };
  return { url: baseUrl, driver, demo, opensWorkspaces: localPartner !== null, close, unfinished: sessionServices.unfinished };
}
