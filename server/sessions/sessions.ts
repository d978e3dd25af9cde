import type { SandboxId, SessionId, SessionStatus } from "@berth/contract";
import type { Db } from "../store/schema.ts";

// The heart, as the rest of the server sees it. Every method is scoped to a partner: a session of another is not found.
// Errors are AppErrors with the codes of the contract.
export interface Sessions extends AsyncDisposable {
  create(partner: PartnerLimits, request: CreateRequest, options?: CreateOptions): Promise<SessionView>;
  get(partnerId: string, id: string): Promise<SessionView>;
  pause(partnerId: string, id: string): Promise<SessionView>;
  resume(partnerId: string, id: string, options: { autoStartAgent: boolean }): Promise<SessionView>;
  destroy(partnerId: string, id: string): Promise<SessionView>;
  // For gateway and relay, which know the sandbox: null when there is none that a partner could know.
  bySandbox(sandboxId: string): Promise<SessionView | null>;
  // Calls back after every change of a session's state that this server makes or hears of.
  onChange(listener: (session: SessionView) => void): Disposable;
}

export interface PartnerLimits {
  id: string;
  maxSessions: number | null;
  maxSessionsPerUser: number | null;
}

// A create request after validation, defaults filled in.
export interface CreateRequest {
  externalUserId: string;
  envVars: Record<string, string>;
  template: string;
  timeoutMs: number;
  autoStartAgent: boolean;
  metadata: Record<string, string>;
}

export interface CreateOptions {
  // Runs in the transaction that makes the session running: the place for the idempotency result.
  inTransaction?: (tx: Db, session: SessionView) => Promise<void>;
}

export interface SessionView {
  id: SessionId;
  sandboxId: SandboxId;
  partnerId: string;
  externalUserId: string;
  status: SessionStatus;
  generation: number;
  template: string;
  metadata: Record<string, string>;
  timeoutMs: number;
  expiresAt: number | null;
  stopReason: string | null;
  createdAt: number;
  updatedAt: number;
}
