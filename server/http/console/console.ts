import type { FastifyInstance } from "fastify";
import type { Clock } from "../../clock.ts";
import type { ConsoleLogins } from "../../keys/console-logins.ts";
import type { Store } from "../../store/open.ts";
import { addConsoleApi } from "./console-api.ts";
import { addConsolePage } from "./console-page.ts";
import { overviewRoute, type OverviewDeps } from "./overview-route.ts";
import { sessionRoutes } from "./session-routes.ts";

// The parts that only the console uses.
export interface ConsoleDeps {
  logins: ConsoleLogins;
  // The page that Vite builds.
  pageFile: string;
  readServer: OverviewDeps["readServer"];
}

export interface ConsoleAppDeps {
  console: ConsoleDeps;
  store: Store;
  clock: Clock;
  baseUrl: string;
}

// The consoles of the operator at /console and of partners at /console/partner.
export function addConsole(app: FastifyInstance, { console: own, ...deps }: ConsoleAppDeps): void {
  addConsolePage(app, own.pageFile);
  addConsoleApi(app, { ...deps, logins: own.logins }, [overviewRoute({ ...deps, ...own }), ...sessionRoutes(deps)]);
}
