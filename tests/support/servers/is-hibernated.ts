import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Berth } from "./berth.ts";

// Partners do not see the difference between a paused session and a hibernated one.
export function isHibernated({ dataDir }: Berth, sessionId: string): boolean {
  using database = new DatabaseSync(join(dataDir, "berth.db"), { readOnly: true });
  const row = database.prepare("select hibernated, state from sessions where id = ?").get(sessionId);
  return row?.hibernated === 1 && row.state === "paused";
}
