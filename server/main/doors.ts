import { join } from "node:path";
import { isForThisMachine, previewDomainOf } from "../config/config.ts";
import { createE2b } from "../facades/e2b/e2b.ts";
import { createTickets } from "../gateway/access/launch-ticket.ts";
import { createGateway } from "../gateway/gateway.ts";
import { presentedKey } from "../http/limits/authentication.ts";
import type { TokenRouteDeps } from "../http/routes/token-routes.ts";
import { createSessionAuthentication } from "../keys/authenticate-session.ts";
import { createAuthenticator } from "../keys/authenticate.ts";
import { readPartner } from "../keys/partners.ts";
import { createSessionTokens } from "../keys/session-tokens.ts";
import { callerAddress, createProxyTrust } from "../network/caller-address.ts";
import { createOpeningLog } from "../session-logs/opening-log.ts";
import { createSettingsStore } from "../store/partners/user-settings.ts";
import { hasSupportVisit } from "../store/session-logs/openings.ts";
import { runningSandboxes } from "../store/sessions/read.ts";
import { readNow } from "../usage/sandbox-meter.ts";
import type { Foundation } from "./foundation.ts";
import type { SessionWork } from "./session-work.ts";

export const WEB_FOLDER = join(import.meta.dirname, "../../web/dist");

// The ways into a session: who may enter, the gateway for browsers and sandboxes' own APIs, and E2B's facade. The caller closes the
// gateway.
export type Doors = ReturnType<typeof openDoors>;

export function openDoors(foundation: Foundation, work: SessionWork, opening: AsyncDisposableStack) {
  const { config, log, clock, registry, site, store, secrets, baseUrl, servers, links } = foundation;
  const { sessions, activity } = work.services;
  const openings = opening.use(createOpeningLog({ store, site, clock, log }));
  const keys = opening.use(createAuthenticator({ store, clock, log }));
  const sessionTokens = createSessionTokens({ store, secrets, clock });
  const authenticateSession = createSessionAuthentication({ keys, tokens: sessionTokens });
  const tickets = createTickets({ secrets, baseUrl, ttlMs: config.launchTtlMs, clock });
  const isTrustedProxy = createProxyTrust(config.trustedProxies);
  const previewDomain = previewDomainOf(config, baseUrl);
  const e2b = createE2bFacade(foundation, work, previewDomain);
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
    activity,
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
  return { keys, sessionTokens, tickets, isTrustedProxy, e2b, gateway, issuePreviewUrl };
}

function createE2bFacade(
  { config, log, clock, site, templates, store, secrets, baseUrl }: Foundation,
  { services: { sessions, snapshots, hibernate }, volumes, sandboxMeter }: SessionWork,
  previewDomain: string | null,
) {
  if (config.facades !== "e2b" && !(config.facades === "auto" && isForThisMachine(config, baseUrl))) return null;
  return createE2b({
    sessions,
    snapshots,
    volumes,
    templates,
    hibernate,
    running: () => runningSandboxes(store.db),
    readStats: (session) => (session.host === site.host ? readNow(sandboxMeter, session) : Promise.resolve(null)),
    secrets,
    previewDomain,
    clock,
    log,
  });
}
