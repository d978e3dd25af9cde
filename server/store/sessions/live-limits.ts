import { sql } from "kysely";
import type { EgressPolicy, SandboxId, SessionId } from "@berth/contract";
import { prepare } from "../engines/prepared.ts";
import type { Db } from "../schema.ts";
import { IDS_PER_QUERY } from "./read.ts";
import type { Site } from "./session.ts";

// Limits that changed while the session existed. Each change has a number, so that every server sees whether it has applied the last one.

export interface ChangedLimits {
  id: SessionId;
  sandboxId: SandboxId;
  limitsVersion: number;
}

// The running sessions at a site whose limits have ever changed.
export async function changedLimits(db: Db, site: Site): Promise<ChangedLimits[]> {
  const rows = await changed(db, { site });
  return rows.map(({ id, sandbox_id: sandboxId, limits_version: limitsVersion }) => ({ id, sandboxId, limitsVersion }));
}

const changed = prepare((db, { site }: { site: Site }) =>
  db
    .selectFrom("sessions")
    .select(["id", "sandbox_id", "limits_version"])
    .where(({ and }) => and({ ...site }))
    // Word for word as in the index. SQLite would plan a query with a bound value again at every run.
    .where("limits_version", ">", sql.lit(0))
    .where("state", "=", "running"),
);

// The egress of a session as its row says now.
export interface CurrentEgress {
  // null: that of the template.
  egress: EgressPolicy | null;
  limitsVersion: number;
  // The last change that also closed open connections.
  closedVersion: number;
}

export async function currentEgress(db: Db, sandboxIds: readonly SandboxId[]): Promise<Map<SandboxId, CurrentEgress>> {
  const found = new Map<SandboxId, CurrentEgress>();
  for (let i = 0; i < sandboxIds.length; i += IDS_PER_QUERY) {
    const rows = await db
      .selectFrom("sessions")
      .select(["sandbox_id", "egress", "limits_version", "egress_closed_version"])
      .where("sandbox_id", "in", sandboxIds.slice(i, i + IDS_PER_QUERY))
      .execute();
    for (const row of rows)
      found.set(row.sandbox_id, {
        egress: row.egress === null ? null : (JSON.parse(row.egress) as EgressPolicy),
        limitsVersion: row.limits_version,
        closedVersion: row.egress_closed_version,
      });
  }
  return found;
}
