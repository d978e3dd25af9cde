import type { Config } from "../config/config.ts";
import { compareSandboxes, type CompareParts } from "./compare-sandboxes.ts";
import type { Finding } from "./finding.ts";
import { checkMachine } from "./machine-checks.ts";
import { checkSchema } from "./schema-check.ts";

// The checks of `berth doctor` inside a running server, with its own store and driver.
export async function examineServer(config: Config, parts: CompareParts): Promise<Finding[]> {
  const name = config.databaseUrl === null ? "SQLite" : "PostgreSQL";
  const { isCurrent: _, ...schema } = await checkSchema(parts.store, name);
  return [...(await checkMachine(config, [])), schema, ...(await compareSandboxes(parts))];
}
