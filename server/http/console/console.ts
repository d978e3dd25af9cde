import type { FastifyInstance } from "fastify";
import type { ConsoleLogins } from "../../keys/console/console-logins.ts";
import type { UsageReports } from "../../usage/usage-reports.ts";
import { addConsoleApi, type ConsoleApiDeps, type ConsoleRoute } from "./console-api.ts";
import { addConsolePage } from "./console-page.ts";
import { overviewRoute, type OverviewDeps } from "./overview-route.ts";
import { partnerChangeRoutes, type PartnerChangeDeps } from "./partners/partner-changes.ts";
import { partnerRoutes, type PartnerRouteDeps } from "./partners/partner-routes.ts";
import { runRoute } from "./sessions/run-route.ts";
import { sessionRoutes, type SessionRouteDeps } from "./sessions/session-routes.ts";
import { snapshotRoutes, type SnapshotRouteDeps } from "./sessions/snapshot-routes.ts";
import { supportRoute, type SupportRouteDeps } from "./sessions/support-route.ts";
import { tokenRoutes, type TokenRouteDeps } from "./sessions/token-routes.ts";
import { systemRoutes, type SystemRouteDeps } from "./system-routes.ts";
import { usageRoutes } from "./usage-routes.ts";
import { webhookRoutes, type WebhookRouteDeps } from "./webhook-routes.ts";

// The parts that only the console uses.
export interface ConsoleDeps {
  logins: ConsoleLogins;
  oidc: ConsoleApiDeps["oidc"];
  // The page that Vite builds.
  pageFile: string;
  forgetKeys: PartnerChangeDeps["forgetKeys"];
  readServer: OverviewDeps["readServer"];
  readStats: SessionRouteDeps["readStats"];
  poolTargets: SystemRouteDeps["poolTargets"];
  imageState: SystemRouteDeps["imageState"];
  examine: SystemRouteDeps["examine"];
}

type AllDeps = ConsoleApiDeps &
  OverviewDeps &
  SessionRouteDeps &
  PartnerRouteDeps &
  PartnerChangeDeps &
  WebhookRouteDeps &
  SnapshotRouteDeps &
  SupportRouteDeps &
  TokenRouteDeps &
  SystemRouteDeps & { usage: UsageReports };

// The consoles of the operator at /console and of partners at /console/partner.
export function addConsole(app: FastifyInstance, deps: Omit<AllDeps, keyof ConsoleDeps>, own: ConsoleDeps): void {
  const all = { ...deps, ...own };
  addConsolePage(app, own.pageFile);
  addConsoleApi(app, all, consoleRoutes(all));
}

export const consoleRoutes = (deps: AllDeps): ConsoleRoute[] => [
  overviewRoute(deps),
  ...sessionRoutes(deps),
  supportRoute(deps),
  ...tokenRoutes(deps),
  runRoute(deps),
  ...snapshotRoutes(deps),
  ...partnerRoutes(deps),
  ...partnerChangeRoutes(deps),
  ...usageRoutes(deps),
  ...webhookRoutes(deps),
  ...systemRoutes(deps),
];
