import type { SandboxId, SessionId, SessionStatus } from "@berth/contract";
import type { Db } from "../store/schema.ts";

// The services, as the rest of the server sees it. Every method is scoped to a partner: a session of another is not found.
// Errors are AppErrors with the codes of the contract.
export interface Sessions extends AsyncDisposable {
  create(partner: PartnerLimits, request: CreateRequest, options?: ChangeOptions): Promise<SessionView>;
  get(partnerId: string, id: string): Promise<SessionView>;
  pause(partnerId: string, id: string, options?: ChangeOptions): Promise<SessionView>;
  resume(partnerId: string, id: string, options: ChangeOptions & { autoStartAgent: boolean }): Promise<SessionView>;
  destroy(partnerId: string, id: string, options?: ChangeOptions): Promise<SessionView>;
  // Changes what may be changed without touching the sandbox. `timeoutMs` counts from now: a running session expires that
  // much later, a paused one from its next resume. A destroyed session is not found.
  update(partnerId: string, id: string, change: SessionChange, options?: ChangeOptions): Promise<SessionView>;
  // Newest first. The store's part is `listSessions` of store/sessions/list.ts.
  list(partnerId: string, filter: ListFilter): Promise<SessionPage>;
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

export interface ChangeOptions {
  // Runs in the transaction that makes the change: the place for the idempotency result and the audit log. When it throws,
  // the change is undone. Not called where nothing changes, as when a destroyed session is destroyed again.
  inTransaction?: (tx: Db, session: SessionView) => Promise<void>;
}

export interface SessionChange {
  timeoutMs?: number;
  // Replaces the whole metadata.
  metadata?: Record<string, string>;
}

export interface ListFilter {
  status?: SessionStatus;
  externalUserId?: string;
  // Each of these pairs must be in the session's metadata.
  metadata?: Record<string, string>;
  limit: number;
  // Only sessions that come after this one in the list.
  after?: ListPosition;
}

export interface ListPosition {
  createdAt: number;
  id: string;
}

export interface SessionPage {
  sessions: SessionView[];
  // Where to go on; null at the end. With a filter that few sessions match, a page may be short and yet have a next one.
  next: ListPosition | null;
}

export interface SessionView {
  id: SessionId;
  sandboxId: SandboxId;
  partnerId: string;
  externalUserId: string;
  status: SessionStatus;
  generation: number;
  template: string;
  // A JSON object of texts, as it is stored: a list of large ones is passed on without being parsed.
  metadataJson: string;
  timeoutMs: number;
  expiresAt: number | null;
  stopReason: string | null;
  createdAt: number;
  updatedAt: number;
}
