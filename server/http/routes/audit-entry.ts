import type { FastifyRequest } from "fastify";
import type { AuditEntry } from "../../store/audit.ts";

export const auditEntry = (request: FastifyRequest, action: string, target: string): AuditEntry => ({
  partnerId: request.principal.partner.id,
  actor: request.principal.keyId,
  action,
  target,
  ip: request.ip,
  requestId: request.id,
});
