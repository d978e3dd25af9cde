import type { SandboxId } from "@berth/contract";
import type { Db } from "../schema.ts";
import { parseSessions } from "./parse-session.ts";
import { sessionsAt } from "./read.ts";
import type { Site, Session } from "./session.ts";

export type RunningSession = Extract<Session, { state: "running" }>;

// Running sessions whose setup has not ended.
export async function sessionsToSetUp(db: Db, site: Site, limit: number): Promise<RunningSession[]> {
  const rows = await sessionsAt(db, site).where("state", "=", "running").where("setup_state", "is not", null).limit(limit).execute();
  return parseSessions(rows) as RunningSession[];
}

// The template and the sealed relays of a sandbox, which its requests to a relay need.
export interface RelayOwner {
  partnerId: string | null;
  template: string;
  sealedRelays: string | null;
}

export async function findRelayOwner(db: Db, sandboxId: SandboxId): Promise<RelayOwner | undefined> {
  return db
    .selectFrom("sessions")
    .select(["partner_id as partnerId", "template", "relays as sealedRelays"])
    .where("sandbox_id", "=", sandboxId)
    .executeTakeFirst();
}
