import type { CallScope, SandboxId, SessionId } from "@berth/contract";

// The rights of a Bearer in sessions: a partner's key, or a token of one session. Every door into a session asks it both questions below.
export interface SessionAccess {
  partnerId: string;
  // The id of the key or of the token, for the audit log.
  credentialId: string;
  // The session of a token; null for a key.
  only: { sessionId: SessionId; sandboxId: SandboxId } | null;
  // Whether it is for this session. If not, reply as for a session that does not exist.
  opens(session: { id: string; partnerId: string }): boolean;
  // Whether it may do this there; with `port`, on that port. If not, reply `insufficient_scope`.
  allows(scope: CallScope, port?: number): boolean;
  // Whether it opens ports at all, perhaps only some.
  hasPorts: boolean;
}

// null: the Bearer is unknown, revoked or expired, or its partner is suspended. Returns a promise only if the database has to be asked.
export type AuthenticateSession = (bearer: string) => SessionAccess | null | Promise<SessionAccess | null>;
