import type { ConsoleAuditEntry } from "@berth/contract/console.ts";
import type { Viewer } from "../../keys/console/console-logins.ts";
import { operatorNames } from "../../store/console/operator-tokens.ts";
import type { StoredAuditEntry } from "../../store/partners/audit.ts";
import type { Db } from "../../store/schema.ts";

// Entries of the audit log as a person may see them. A partner learns that it was the operator, but not who and from where.
export async function toConsoleAudit(db: Db, viewer: Viewer, entries: readonly StoredAuditEntry[]): Promise<ConsoleAuditEntry[]> {
  const names = await operatorNames(
    db,
    entries.map(({ actor }) => actor).filter((actor) => actor.startsWith("opr_")),
  );
  return entries.map(({ seq, at, partnerId, actor, action, target, ip, requestId }) => {
    const isHidden = viewer.kind === "partner" && !/^(key|tok)_/.test(actor);
    return {
      seq,
      at: new Date(at).toISOString(),
      partnerId,
      actor: isHidden ? "operator" : (names.get(actor) ?? actor),
      action,
      target,
      ip: isHidden ? null : ip,
      requestId,
    };
  });
}
