import { sql } from "kysely";
import type { EgressHostsTable } from "../tables/session-log-tables.ts";
import type { Db } from "../schema.ts";

// The connections of a sandbox to one host, added up.
export interface EgressHost {
  outcome: EgressHostsTable["outcome"];
  host: string;
  port: number;
  rule: string;
  connections: number;
  sentBytes: number;
  receivedBytes: number;
  firstAt: number;
  lastAt: number;
}

// Further hosts of a session are added to one row for each outcome.
export const MAX_EGRESS_HOSTS = 200;
const OTHERS = { host: "*", port: 0, rule: "" };

// A host occurs at most once in `hosts`, which are at most about MAX_EGRESS_HOSTS.
export async function addEgressHosts(tx: Db, sessionId: string, hosts: readonly EgressHost[]): Promise<void> {
  if (hosts.length === 0) return;
  const known = await tx
    .selectFrom("egress_hosts")
    .select(["outcome", "host", "port", "rule"])
    .where("session_id", "=", sessionId)
    .where("host", "!=", OTHERS.host)
    .execute();
  await tx
    .insertInto("egress_hosts")
    .values(limitHosts(hosts, new Set(known.map(keyOf))).map((host) => toRow(sessionId, host)))
    .onConflict((conflict) =>
      conflict.columns(["session_id", "outcome", "host", "port", "rule"]).doUpdateSet({
        connections: sql`egress_hosts.connections + excluded.connections`,
        sent_bytes: sql`egress_hosts.sent_bytes + excluded.sent_bytes`,
        received_bytes: sql`egress_hosts.received_bytes + excluded.received_bytes`,
        last_at: sql`excluded.last_at`,
      }),
    )
    .execute();
}

function limitHosts(hosts: readonly EgressHost[], known: ReadonlySet<string>): EgressHost[] {
  const kept = new Map<string, EgressHost>();
  let room = MAX_EGRESS_HOSTS - known.size;
  for (const given of hosts) {
    const isKept = known.has(keyOf(given)) || given.host === OTHERS.host || room-- > 0;
    const host = isKept ? given : { ...given, ...OTHERS };
    const before = kept.get(keyOf(host));
    kept.set(keyOf(host), before ? sum(before, host) : host);
  }
  return [...kept.values()];
}

const sum = (one: EgressHost, other: EgressHost): EgressHost => ({
  ...one,
  connections: one.connections + other.connections,
  sentBytes: one.sentBytes + other.sentBytes,
  receivedBytes: one.receivedBytes + other.receivedBytes,
  firstAt: Math.min(one.firstAt, other.firstAt),
  lastAt: Math.max(one.lastAt, other.lastAt),
});

const keyOf = ({ outcome, host, port, rule }: Pick<EgressHost, "outcome" | "host" | "port" | "rule">) =>
  `${outcome} ${host} ${port} ${rule}`;

// The last used first.
export async function egressHostsOf(db: Db, sessionId: string): Promise<EgressHost[]> {
  const rows = await db
    .selectFrom("egress_hosts")
    .selectAll()
    .where("session_id", "=", sessionId)
    .orderBy("last_at", "desc")
    .orderBy("host")
    .execute();
  return rows.map((row) => ({
    outcome: row.outcome,
    host: row.host,
    port: row.port,
    rule: row.rule,
    connections: row.connections,
    sentBytes: row.sent_bytes,
    receivedBytes: row.received_bytes,
    firstAt: row.first_at,
    lastAt: row.last_at,
  }));
}

const toRow = (sessionId: string, host: EgressHost): EgressHostsTable => ({
  session_id: sessionId,
  outcome: host.outcome,
  host: host.host,
  port: host.port,
  rule: host.rule,
  connections: host.connections,
  sent_bytes: host.sentBytes,
  received_bytes: host.receivedBytes,
  first_at: host.firstAt,
  last_at: host.lastAt,
});
