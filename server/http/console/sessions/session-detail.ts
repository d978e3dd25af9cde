import { AppError, isSessionId, type SandboxId, type Template } from "@berth/contract";
import type { ConsoleSessionDetail, ConsoleStats } from "@berth/contract/console.ts";
import type { Clock } from "../../../clock.ts";
import { describePolicy } from "../../../egress-hosts.ts";
import { getPartner } from "../../../keys/partners.ts";
import { limitTemplate } from "../../../session-limits.ts";
import { eventsOfSession, findSessionRow, readSessionUsage } from "../../../store/console/session-detail.ts";
import type { Store } from "../../../store/open.ts";
import { listAudit } from "../../../store/partners/audit.ts";
import type { SessionRow } from "../../../store/sessions/parse-session.ts";
import { parseRules } from "../../../store/sessions/rules.ts";
import { parseSetup, type SessionSetup } from "../../../store/sessions/session-setup.ts";
import type { Site } from "../../../store/sessions/session.ts";
import type { Access } from "../access/access.ts";
import { toConsoleAudit } from "../audit-entries.ts";
import { toConsoleSession } from "./session-list.ts";

export interface SessionDetailDeps {
  store: Store;
  clock: Clock;
  // The configured templates, by name.
  templates: { get(name: string): Template | undefined };
  // The current use of a sandbox; null if it is not on this server, or does not run.
  readStats(session: { sandboxId: SandboxId; template: string; site: Site }): Promise<Omit<ConsoleStats, "at"> | null>;
}

const MAX_EVENTS = 200;
const MAX_AUDIT = 100;
const MB = 1024 * 1024;

export async function readSessionDetail(deps: SessionDetailDeps, { viewer, partnerId }: Access, id: string): Promise<ConsoleSessionDetail> {
  const { store, clock, templates } = deps;
  const row = await requireSession(store, partnerId, id);
  const template = templates.get(row.template);
  const limited = template && limitTemplate(template, parseRules(row));
  const sandbox = { sandboxId: row.sandbox_id, template: row.template, site: { driver: row.driver, host: row.host } };
  const stats = row.state === "running" ? await deps.readStats(sandbox) : null;
  const events = await eventsOfSession(store.db, row.id, MAX_EVENTS);
  return {
    ...toConsoleSession(row),
    driver: row.driver,
    metadata: JSON.parse(row.metadata) as Record<string, string>,
    timeoutMs: row.timeout_ms,
    idleTimeoutMs: row.idle_timeout_ms,
    ...setupOf(parseSetup(row.setup)),
    volumes: (parseRules(row).volumes ?? []).map(({ name, path, mode }) => ({ name, path, mode })),
    supportAccess: (await getPartner(store.db, row.partner_id)).supportAccess,
    limits: limited ? limitsOf(limited) : null,
    egress: limited ? describePolicy(limited.egress) : null,
    now: stats && { ...stats, at: new Date(clock.now()).toISOString() },
    usage: await readSessionUsage(store.db, row, clock.now()),
    events: events.map(({ id: eventId, type, at, data }) => ({
      id: eventId,
      type,
      at: new Date(at).toISOString(),
      reason: typeof data.reason === "string" ? data.reason : null,
    })),
    audit: await toConsoleAudit(store.db, viewer, await listAudit(store.db, { target: row.id, limit: MAX_AUDIT })),
  };
}

// Also if the session is destroyed. Throws `session_not_found` for another partner's.
export async function requireSession(store: Store, partnerId: string | null, id: string): Promise<SessionRow & { partner_id: string }> {
  const row = isSessionId(id) ? await findSessionRow(store.db, partnerId, id) : null;
  if (row?.partner_id == null) throw new AppError("session_not_found");
  return { ...row, partner_id: row.partner_id };
}

function setupOf(setup: SessionSetup | null): Pick<ConsoleSessionDetail, "source" | "setup"> {
  if (!setup) return { source: null, setup: null };
  const { source, status, exitCode } = setup;
  const from = source?.git ? source.git.url : source?.snapshotId;
  return {
    source: source && { from: from ?? "", status: source.status, reason: source.reason },
    setup: status === "none" ? null : { status, exitCode },
  };
}

const limitsOf = ({ cpus, memoryMb, diskMb, pids }: Template) => ({
  cpus,
  memoryBytes: memoryMb * MB,
  diskBytes: diskMb * MB,
  processes: pids,
});
