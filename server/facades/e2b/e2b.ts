import type { FastifyInstance } from "fastify";
import type { SandboxId } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { Facade, GatewayParts } from "../../gateway/facade.ts";
import type { PreviewGuests } from "../../gateway/preview/preview-guests.ts";
import { headerOf } from "../../gateway/requests/request-parts.ts";
import type { Log } from "../../log.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import { createAccess, type Access } from "./access.ts";
import { addControlRoutes } from "./control/routes.ts";
import { createSandboxFormat } from "./control/sandbox-format.ts";
import type { SandboxRouteDeps } from "./control/sandbox-routes.ts";
import type { StorageRouteDeps } from "./control/storage-routes.ts";
import { createEnvd, missingBody } from "./envd/envd.ts";
import { createSignerSearch } from "./envd/signer-search.ts";
import { splitMetadata } from "./sandbox-facts.ts";

// E2B's API over sessions, so that programs that use E2B's SDKs run on Berth. It translates and stores nothing.
export interface E2b {
  // The API for sandboxes, as a part of the partner API.
  addRoutes(app: FastifyInstance): void;
  // The API in sandboxes, as a part of the gateway.
  facade(parts: GatewayParts): Facade;
  guests: PreviewGuests;
}

export interface E2bDeps extends Omit<SandboxRouteDeps, "format">, StorageRouteDeps {
  sessions: SandboxRouteDeps["sessions"];
  secrets: Pick<Secrets, "derive">;
  // The sandboxes that run.
  running: () => Promise<SandboxId[]>;
  // Below which the web servers of sandboxes have hosts; null if there is none.
  previewDomain: string | null;
  clock: Clock;
  log: Log;
}

export function createE2b(deps: E2bDeps): E2b {
  const { clock, templates } = deps;
  const access = createAccess(deps.secrets);
  const format = createSandboxFormat({ access, templates, domain: deps.previewDomain });
  const signers = createSignerSearch({ access, running: deps.running, clock });
  return {
    addRoutes: (app) => addControlRoutes(app, { ...deps, format }),
    facade: (parts) => createEnvd({ access, signers, clock, log: deps.log }, parts),
    guests: createGuests(access),
  };
}

export const TRAFFIC_HEADER = "e2b-traffic-access-token";

// The web servers of a sandbox are open to everyone, unless its create said that they need the traffic token. A sandbox that was not
// created through this API is as private as ever.
const createGuests = (access: Access): PreviewGuests => ({
  admit(request, { sandboxId, port }, cached) {
    const facts = cached && splitMetadata(cached.session).facts;
    if (!cached || !facts) return null;
    const token = headerOf(request, TRAFFIC_HEADER);
    const isAdmitted = facts.publicTraffic || (token !== undefined && access.accepts("traffic", sandboxId, token));
    if (!isAdmitted)
      return { admitted: false, status: 403, body: { sandboxId, message: "The traffic access token is missing", code: 403 } };
    const isRunning = cached.session.status === "running" && cached.partner.state === "active";
    if (!isRunning && !cached.session.autoResume) return { admitted: false, status: 502, body: missingBody(sandboxId) };
    return { admitted: true, ...(facts.maskHost !== undefined && { host: facts.maskHost.replaceAll("${PORT}", String(port)) }) };
  },
});
