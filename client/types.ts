// What the service sends and takes. These types stand alone, so that the package has no dependencies; a test holds them
// against the service's own contract.

export type SessionStatus = "running" | "paused" | "destroyed";

export interface SessionData {
  sessionId: string;
  sandboxId: string;
  status: SessionStatus;
  sandboxUrl: string;
  // ISO 8601, UTC.
  createdAt: string;
  // Filled in by `get` and `list`.
  externalUserId?: string;
  template?: string;
  metadata?: Record<string, string>;
  // When the session times out; null when it does not run.
  expiresAt?: string | null;
  stopReason?: "api" | "timeout" | "retention" | "sandbox_lost" | null;
}

export interface CreateSession {
  // Your own identifier of the user.
  externalUserId: string;
  envVars?: Record<string, string>;
  template?: string;
  // 60,000 to 86,400,000; an hour when left out.
  timeoutMs?: number;
  autoStartAgent?: boolean;
  metadata?: Record<string, string>;
}

export interface UpdateSession {
  timeoutMs?: number;
  metadata?: Record<string, string>;
}

export interface ListSessions {
  status?: SessionStatus;
  externalUserId?: string;
  metadata?: Record<string, string>;
  // Sessions in one answer of the service (1 to 100), not in all.
  pageSize?: number;
}

export interface LaunchUrl {
  url: string;
  // Unix time in milliseconds.
  expiresAt: number;
}

export interface Page<T> {
  data: T[];
  nextCursor: string | null;
}

export interface FieldFault {
  field: string;
  message: string;
}

export type EventType =
  | "session.created"
  | "session.paused"
  | "session.resumed"
  | "session.destroyed"
  | "session.timeout_warning"
  | "session.failed";

export interface BerthEvent {
  id: string;
  type: EventType;
  timestamp: string;
  data: { sessionId: string; [field: string]: unknown };
}

export interface Webhook {
  id: string;
  url: string;
  // null: all of them.
  types: EventType[] | null;
  description: string;
  enabled: boolean;
  disabledReason: "api" | "gone" | "failing" | null;
  createdAt: string;
}

export interface CreateWebhook {
  url: string;
  types?: EventType[] | null;
  description?: string;
}

export interface UpdateWebhook {
  url?: string;
  types?: EventType[] | null;
  description?: string;
  enabled?: boolean;
}

export interface Delivery {
  id: string;
  eventId: string;
  type: string;
  state: "pending" | "delivered" | "failed";
  attempts: number;
  lastStatus: number | null;
  lastError: string | null;
  createdAt: string;
  finishedAt: string | null;
}
