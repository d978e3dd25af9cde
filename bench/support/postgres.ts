import { randomBytes } from "node:crypto";
import { startPostgres } from "../../tests/support/databases/postgres.ts";
import type { Run } from "./benchmark.ts";

// The settings of servers that share a new PostgreSQL database. The database does not sync its writes to the disk.
export async function openPostgres({ resources }: Run): Promise<Record<string, string>> {
  const postgres = resources.own(await startPostgres());
  return { BERTH_DATABASE_URL: await postgres.createDatabase(), BERTH_MASTER_KEY: randomBytes(32).toString("hex") };
}
