import type { EgressPolicy, Resources, TimeoutAction } from "@berth/contract";
import type { Selectable } from "kysely";
import type { Db, SessionsTable } from "../schema.ts";
import type { MountedVolume } from "../tables/volume-tables.ts";

// The rules of a session, beside its timeouts.
export interface SessionRules {
  // Whether opening the session resumes it if it is paused.
  autoResume: boolean;
  onTimeout: TimeoutAction;
  // How long people may keep the session running; null: not beyond its timeout.
  maxTimeoutMs: number | null;
  // null: the values of the template.
  resources: Resources | null;
  egress: EgressPolicy | null;
  // null: none.
  volumes: MountedVolume[] | null;
}

export const RULE_COLUMNS = ["auto_resume", "on_timeout", "max_timeout_ms", "resources", "egress", "volumes"] as const;

export const parseRules = (row: Pick<Selectable<SessionsTable>, (typeof RULE_COLUMNS)[number]>): SessionRules => ({
  autoResume: row.auto_resume === 1,
  onTimeout: row.on_timeout ?? "pause",
  maxTimeoutMs: row.max_timeout_ms,
  resources: row.resources === null ? null : (JSON.parse(row.resources) as Resources),
  egress: row.egress === null ? null : (JSON.parse(row.egress) as EgressPolicy),
  volumes: row.volumes === null ? null : (JSON.parse(row.volumes) as MountedVolume[]),
});

export const rulesOf = ({ autoResume, onTimeout, maxTimeoutMs, resources, egress, volumes }: SessionRules): SessionRules => ({
  autoResume,
  onTimeout,
  maxTimeoutMs,
  resources,
  egress,
  volumes,
});

export const ruleColumns = ({ autoResume, onTimeout, maxTimeoutMs, resources, egress, volumes }: SessionRules) => ({
  auto_resume: autoResume ? 1 : 0,
  on_timeout: onTimeout,
  max_timeout_ms: maxTimeoutMs,
  resources: resources && JSON.stringify(resources),
  egress: egress && JSON.stringify(egress),
  volumes: volumes && JSON.stringify(volumes),
});

// Sessions that were created before a session had its own action get that of the server.
export async function setMissingTimeoutActions(db: Db, onTimeout: TimeoutAction): Promise<void> {
  await db
    .updateTable("sessions")
    .set({ on_timeout: onTimeout })
    .where("on_timeout", "is", null)
    .where("partner_id", "is not", null)
    .execute();
}
