import type { FastifyInstance } from "fastify";
import type { ConsoleLogins } from "../../keys/console-logins.ts";
import { addConsoleApi, type ConsoleApiDeps } from "./console-api.ts";
import { addConsolePage } from "./console-page.ts";
import { overviewRoute, type OverviewDeps } from "./overview-route.ts";
import { sessionRoutes, type SessionRouteDeps } from "./session-routes.ts";

// The parts that only the console uses.
export interface ConsoleDeps {
  logins: ConsoleLogins;
  // The page that Vite builds.
  pageFile: string;
  readServer: OverviewDeps["readServer"];
  readStats: SessionRouteDeps["readStats"];
}

export type ConsoleAppDeps = Omit<ConsoleApiDeps & OverviewDeps & SessionRouteDeps, keyof ConsoleDeps>;

// The consoles of the operator at /console and of partners at /console/partner.
export function addConsole(app: FastifyInstance, deps: ConsoleAppDeps, own: ConsoleDeps): void {
  const all = { ...deps, ...own };
  addConsolePage(app, own.pageFile);
  addConsoleApi(app, all, [overviewRoute(all), ...sessionRoutes(all)]);
}
