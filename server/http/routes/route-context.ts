import type { FastifyRequest } from "fastify";
import type { AuditEntry } from "../../store/partners/audit.ts";

// The parts of an authenticated request that handlers use.
export const partnerIdOf = (request: FastifyRequest): string => request.principal.partner.id;

export const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;

export const auditEntry = (request: FastifyRequest, action: string, target: string): AuditEntry => ({
  partnerId: partnerIdOf(request),
  actor: request.principal.keyId,
  action,
  target,
  ip: request.ip,
  requestId: request.id,
});
