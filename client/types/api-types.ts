// The bodies of the partner API. These types are separate from the contract, so that the package has no dependencies. A test
// compares them with it.
import type { StartRun } from "./run-types.ts";

export type SessionStatus = "running" | "paused" | "destroyed";

export interface SessionData {
  sessionId: string;
  sandboxId: string;
  status: SessionStatus;
  sandboxUrl: string;
  // ISO 8601, UTC.
  createdAt: string;
  // Only set by `get`, `list`, `refresh` and `update`.
  externalUserId?: string;
  template?: string;
  metadata?: Record<string, string>;
  // The time without use after which the session is paused; null if there is none.
  idleTimeoutMs?: number | null;
  // When the timeout will pause or destroy the session; null unless it is running.
  expiresAt?: string | null;
  source?: SourceData;
  setup?: SetupData;
  // The image of the repository's devcontainer.json, if the sandbox runs in it.
  image?: string;
  relays?: Omit<Relay, "value">[];
  volumes?: VolumeMount[];
  stopReason?: "api" | "timeout" | "idle" | "retention" | "sandbox_lost" | "disk_full" | "disk_failed" | null;
  // Whether opening the session resumes it if it is paused.
  autoResume?: boolean;
  onTimeout?: "pause" | "destroy";
  // How long the user may keep the session running; null if not beyond its timeout.
  maxTimeoutMs?: number | null;
  // The values that the create named; null for those of the template.
  resources?: Resources | null;
  egress?: SessionEgress | null;
}

export interface Resources {
  cpus?: number;
  memoryMb?: number;
  diskMb?: number;
}

export interface SessionEgress {
  policy: "none" | "public" | "hosts";
  // With the policy `hosts`: names, `*.domain` or addresses, each with an optional `:port`.
  hosts?: string[];
}

export interface CreateSession {
  // The identifier of the user in your own system.
  externalUserId: string;
  envVars?: Record<string, string>;
  template?: string;
  // 60,000 to 86,400,000. Default: one hour.
  timeoutMs?: number;
  // 120,000 to 86,400,000; null for none. Pauses the session when it was not used for this long.
  idleTimeoutMs?: number | null;
  autoStartAgent?: boolean;
  metadata?: Record<string, string>;
  // Whether opening the launch URL, a call through `sandboxUrl` or a preview resumes the session if it is paused.
  autoResume?: boolean;
  // Whether the timeout pauses or destroys the session.
  onTimeout?: "pause" | "destroy";
  // Both only within what the template allows.
  resources?: Resources;
  egress?: SessionEgress;
  // Start with the files of a git repository, of a snapshot or of another session.
  source?: Source;
  // How many sessions to create from a snapshot or a session, 1 to 20. Use `sessions.fork` for it.
  count?: number;
  // A shell command that runs once, when the source is there and before the agent starts.
  setup?: string;
  // APIs that programs in the sandbox call with a credential that only the server knows.
  relays?: Relay[];
  // Volumes to mount. The session keeps them until it is destroyed.
  volumes?: VolumeMount[];
  // A task that the agent begins when the session is set up. With `count`, each session gets a run of its own.
  run?: StartRun;
}

export interface VolumeMount {
  name: string;
  // A path below /mnt, /data or /home/user.
  path: string;
  // One session at a time may have a volume `rw`.
  mode: "ro" | "rw";
}

export interface CreateVolume {
  // Lowercase letters, digits and hyphens; unique among your volumes.
  name: string;
  // Default: 10,240.
  sizeMb?: number;
}

export interface Volume {
  volumeId: string;
  name: string;
  sizeMb: number;
  createdAt: string;
  // The sessions that mount it, paused ones included.
  usedBy: { sessionId: string; mode: "ro" | "rw" }[];
}

// A source has exactly one of these fields.
export interface Source {
  git?: GitSource;
  snapshotId?: string;
  sessionId?: string;
}

export interface GitSource {
  // https or http, without a user or password.
  url: string;
  // A branch, a tag or a full commit id. Default: the repository's default branch.
  ref?: string;
  // Fetch only this many commits.
  depth?: number;
  // The folder below the workspace. Default: the workspace itself.
  path?: string;
  submodules?: boolean;
  // The user that belongs to the token, for servers that check it.
  username?: string;
  // Never enters the sandbox, and is never returned.
  token?: string;
}

export interface SourceData {
  git?: Omit<GitSource, "username" | "token">;
  snapshotId?: string;
  sessionId?: string;
  status: "pending" | "ready" | "failed";
  // Why it failed, for people.
  reason: string | null;
}

export interface SetupData {
  // `none`: there was no command.
  status: "pending" | "finished" | "none";
  exitCode: number | null;
}

export interface Relay {
  // Programs find the relay's address in the variable BERTH_RELAY_{name}.
  name: string;
  // Requests reach only addresses below this one.
  upstream: string;
  // The header that the server adds.
  header: string;
  // Its value. Never enters the sandbox, and is never returned.
  value: string;
}

export interface UpdateSession {
  timeoutMs?: number;
  // Counts from now; null for none.
  idleTimeoutMs?: number | null;
  metadata?: Record<string, string>;
  autoResume?: boolean;
  onTimeout?: "pause" | "destroy";
  // Renews the token of the repository. A source that has failed is fetched again.
  source?: { git: { token: string } };
  // New values for relays of the session.
  relays?: Pick<Relay, "name" | "value">[];
}

export interface ListSessions {
  status?: SessionStatus;
  externalUserId?: string;
  metadata?: Record<string, string>;
  // The number of sessions per request (1 to 100), not in total.
  pageSize?: number;
}

export interface SnapshotData {
  id: string;
  // Empty if it has none.
  name: string;
  status: "creating" | "ready";
  // The session that it was taken of.
  sessionId: string;
  template: string;
  // The space that it occupies; null if that is not known.
  bytes: number | null;
  createdAt: string;
}

export interface ForkedSessions {
  // Either a session or an error.
  sessions: { session: SessionData | null; error: { code: string; message: string } | null }[];
}

export interface LaunchUrl {
  url: string;
  // A Unix timestamp in milliseconds.
  expiresAt: number;
  // The role that you asked for; absent if you did not.
  role?: "editor" | "viewer";
}

export interface IssueLaunchUrl {
  // A viewer sees the workspace and changes nothing. Default: "editor".
  role?: "editor" | "viewer";
  // The name of the person, for others in the same workspace; at most 64 characters.
  displayName?: string;
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
  | "session.failed"
  | "session.source_ready"
  | "session.source_failed"
  | "session.setup_finished"
  | "process.exited"
  | "run.started"
  | "run.needs_input"
  | "run.finished"
  | "snapshot.created"
  | "snapshot.failed"
  | "snapshot.deleted";

export interface BerthEvent {
  id: string;
  type: EventType;
  timestamp: string;
  data: { sessionId: string; [field: string]: unknown };
}

export interface Webhook {
  id: string;
  url: string;
  // null for all types.
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

export type KeyScope = "read" | "sessions" | "admin";

export interface Key {
  id: string;
  name: string;
  scope: KeyScope;
  // The first and last characters.
  hint: string;
  state: "active" | "expired" | "revoked";
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string | null;
  revokedAt: string | null;
}

export interface CreateKey {
  name?: string;
  // Default: admin.
  scope?: KeyScope;
  // null for never.
  expiresAt?: string | null;
}

export interface RotateKey {
  // How long the old key keeps working. Default: 24 hours.
  overlapMs?: number;
  // When the new key stops working; null for never. Default: it lasts as long as the old one was to last when it was issued.
  expiresAt?: string | null;
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

// One host that a sandbox reached, or tried to.
export interface EgressHost {
  // After 200 hosts of a session, `*` stands for all others.
  host: string;
  port: number;
  outcome: "allowed" | "refused" | "unreachable";
  // The rule that allowed it, or the reason for which there was no connection.
  rule: string;
  connections: number;
  sentBytes: number;
  receivedBytes: number;
  firstAt: string;
  lastAt: string;
}

export type UsageGroup = "day" | "session" | "user" | "template";

export interface UsageRequest {
  // Days in UTC, such as 2030-01-31. `to` is the first day after the report.
  from?: string;
  to?: string;
  // Without groups, the report is one row.
  groupBy?: readonly UsageGroup[];
}

export interface UsageReport {
  from: string;
  to: string;
  // null if the operator has set no prices.
  currency: string | null;
  data: Usage[];
}

export interface Usage {
  day?: string;
  sessionId?: string;
  externalUserId?: string;
  template?: string;
  runningSeconds: number;
  pausedSeconds: number;
  hibernatedSeconds: number;
  cpuSeconds: number;
  memoryPeakBytes: number;
  memoryMeanBytes: number;
  diskPeakBytes: number;
  diskMeanBytes: number;
  egressBytes: number;
  ingressBytes: number;
  inputTokens: number;
  outputTokens: number;
  estimatedCost: number | null;
}
