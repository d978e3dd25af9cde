import type { FastifyRequest } from "fastify";
import type { Clock } from "../../clock.ts";
import type { ChangeOptions, SessionView } from "../../sessions/sessions.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import { spanOf } from "../../tracing/span.ts";
import type { Result, Save } from "../requests/idempotency.ts";
import { auditEntry } from "./route-context.ts";

// Writes the audit entry, and the reply for a retry, in the transaction of the change.
export type RecordChange = (
  request: FastifyRequest,
  action: string,
  save?: Save,
  toResult?: (session: SessionView) => Result,
) => ChangeOptions;

export const createRecordChange =
  (clock: Clock): RecordChange =>
  (request, action, save, toResult) => ({
    span: spanOf(request.raw),
    async record(tx, session) {
      await appendAudit(tx, auditEntry(request, action, session.id), clock.now());
      if (save && toResult) await save(tx, toResult(session));
    },
  });
