import type { Config } from "../config/config.ts";
import { compareSandboxes, type CompareParts } from "./compare-sandboxes.ts";
import type { Finding } from "./finding.ts";
import { checkMachine } from "./machine-checks.ts";
import { checkInstallation, checkQuarantine, type QuarantineParts } from "./quarantine-check.ts";
import { checkSchema } from "./schema-check.ts";

// The checks of `berth doctor` inside a running server, with its own store and driver.
export async function examineServer(config: Config, parts: CompareParts & QuarantineParts): Promise<Finding[]> {
  const name = config.databaseUrl === null ? "SQLite" : "PostgreSQL";
  const { isCurrent: _, ...schema } = await checkSchema(parts.store, name);
  return [
    ...(await checkMachine(config, [])),
    schema,
    ...(await checkInstallation(config.dataDir, parts.store)),
    ...(await compareSandboxes(parts)),
    ...(await checkQuarantine(parts)),
  ];
}
