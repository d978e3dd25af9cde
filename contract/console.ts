import type { RunSummary } from "./schemas/run/run.ts";
import type { TimeoutAction } from "./schemas/session/session-rules.ts";
import type { SessionStatus } from "./schemas/session/session.ts";
import type { Snapshot } from "./schemas/snapshot.ts";
import type { Branding } from "./workspace/workspace.ts";

// The private API between the server and the console in the browser. It may change with every version; programs use the partner API.

export const CONSOLE_PATHS = { operator: "/console", partner: "/console/partner" } as const;
export type ViewerKind = keyof typeof CONSOLE_PATHS;

// Browsers let no other site send it, so a request that has it comes from the console's own page.
export const CONSOLE_HEADER = "x-berth-console";

export interface ConsoleViewer {
  kind: ViewerKind;
  name: string;
  // null: an operator, who sees every partner.
  partnerId: string | null;
  expiresAt: string;
}

// The ways to sign in, besides a secret.
export interface ConsoleSignIn {
  hasIdentityProvider: boolean;
}

// Why a sign-in at the identity provider failed, in the query `sign-in` of the page.
export const SIGN_IN_FAULTS = ["unreachable", "denied", "invalid", "not_allowed", "expired"] as const;
export type SignInFault = (typeof SIGN_IN_FAULTS)[number];

export interface ConsoleList<Row> {
  data: Row[];
  // null at the end. A page may be short or empty although there are more.
  nextCursor: string | null;
}

export const STATUS_FILTERS = ["live", "running", "paused", "destroyed", "all"] as const;
export type StatusFilter = (typeof STATUS_FILTERS)[number];

// How many rows a page of sessions has at most, and how many may be asked for by their ids.
export const CONSOLE_PAGE_ROWS = 200;

export interface ConsoleSession {
  id: string;
  sandboxId: string;
  partnerId: string;
  externalUserId: string;
  // null while it is created.
  status: SessionStatus | null;
  // The state in full, such as `pausing`.
  state: string;
  isHibernated: boolean;
  template: string;
  host: string | null;
  stopReason: string | null;
  createdAt: string;
  updatedAt: string;
  expiresAt: string | null;
}

export interface ConsoleOverview {
  sessions: { running: number; paused: number; hibernated: number };
  // Counts the last minute.
  creates: number;
  // The partner's quota; null for an operator.
  quota: { live: number; maxSessions: number | null } | null;
  // null for a partner.
  server: ConsoleServer | null;
}

// The server that answers, since its start.
export interface ConsoleServer {
  driver: string;
  createSeconds: { start: string; count: number; p50: number | null; p99: number | null }[];
  pool: { warm: number; misses: number };
  refusals: { code: string; count: number }[];
  webhooks: { pending: number; dueSince: string | null };
  machine: ConsoleMachine;
}

export interface ConsoleMachine {
  cpus: number;
  // Processes that run or wait, averaged over a minute.
  load: number;
  memoryBytes: number;
  memoryFreeBytes: number;
  diskBytes: number;
  diskFreeBytes: number;
  // `low`: nothing new is created. `full`: sessions are paused too.
  disk: "enough" | "low" | "full";
}

export interface ConsoleSessionDetail extends ConsoleSession {
  driver: string;
  metadata: Record<string, string>;
  timeoutMs: number;
  idleTimeoutMs: number | null;
  // Where its files come from; null if it started empty.
  source: { from: string; status: string; reason: string | null } | null;
  // Its setup command; null without one.
  setup: { status: string; exitCode: number | null } | null;
  volumes: { name: string; path: string; mode: string }[];
  // Whether the partner lets the operator's support look at workspaces.
  supportAccess: boolean;
  // null if its template is no longer configured.
  limits: { cpus: number; memoryBytes: number; diskBytes: number; processes: number } | null;
  // The hosts that it may reach, in one line; null if its template is no longer configured.
  egress: string | null;
  // Right now; null if it does not run on this server.
  now: ConsoleStats | null;
  // The usage of the last 31 days.
  usage: ConsoleSessionUsage;
  // Newest first.
  events: { id: string; type: string; at: string; reason: string | null }[];
  audit: ConsoleAuditEntry[];
}

// One use of a launch URL.
export interface ConsoleOpening {
  openedAt: string;
  // null while a page of it is connected.
  endedAt: string | null;
  address: string;
  // The browser and its system.
  agent: string;
  role: string | null;
  // The name that the partner gave the person in the launch URL; null for a guest.
  name: string | null;
}

export interface ConsoleSupportLink {
  url: string;
}

// null: the engine does not measure it.
export interface ConsoleStats {
  at: string;
  // Counts since the sandbox was started.
  cpuMs: number | null;
  memoryBytes: number | null;
  diskBytes: number | null;
  processes: number | null;
}

export interface ConsoleSessionUsage {
  runningSeconds: number;
  pausedSeconds: number;
  hibernatedSeconds: number;
  cpuSeconds: number;
  memoryPeakBytes: number;
  memoryMeanBytes: number;
  diskPeakBytes: number;
  egressBytes: number;
  ingressBytes: number;
  inputTokens: number;
  outputTokens: number;
}

export interface ConsoleAuditEntry {
  seq: number;
  at: string;
  partnerId: string;
  // For people: the name of an operator token, or the id of an API key.
  actor: string;
  action: string;
  target: string;
  // null if it is unknown. A partner does not see the operator's.
  ip: string | null;
  requestId: string | null;
}

export const SESSION_ACTIONS = ["pause", "resume", "destroy", "extend"] as const;
export type SessionAction = (typeof SESSION_ACTIONS)[number];

export interface ConsolePartner {
  id: string;
  name: string;
  state: "active" | "suspended";
  live: number;
  // null: no limit.
  maxSessions: number | null;
  maxSessionsPerUser: number | null;
  ratePerMinute: number | null;
  origins: readonly string[];
  createdAt: string;
}

export interface ConsolePartnerDetail extends ConsolePartner {
  branding: Branding;
  idleTimeoutMs: number | null;
  maxTimeoutMs: number | null;
  // null: the server's default.
  autoResume: boolean | null;
  onTimeout: TimeoutAction | null;
  // Whether the operator's support may look at workspaces.
  supportAccess: boolean;
  // Changes with every change of the settings. A form sends it back.
  version: string;
}

export interface ConsoleWebhook {
  id: string;
  partnerId: string;
  url: string;
  description: string;
  // null: every type.
  types: string[] | null;
  state: "enabled" | "disabled";
  disabledReason: string | null;
  failingSince: string | null;
  // At most 1,000.
  pending: number;
  // Since when the first due delivery waits; null if none does.
  dueSince: string | null;
}

// All of them, in the order of a run's life.
export const RUN_FILTERS = [
  "queued",
  "running",
  "needs_input",
  "succeeded",
  "failed",
  "interrupted",
  "lost",
] as const satisfies RunSummary["status"][];

export interface ConsoleRun extends RunSummary {
  partnerId: string;
  externalUserId: string;
}

export interface ConsoleSnapshot extends Snapshot {
  // null: adopted by the operator, for templates.
  partnerId: string | null;
}

// `use` counts all snapshots, not only those of the page.
export interface ConsoleSnapshotList extends ConsoleList<ConsoleSnapshot> {
  use: { count: number; bytes: number };
}

export interface ConsoleTemplate {
  name: string;
  description: string;
  image: string | null;
  // Such as "43% fetched"; null if there is no image, or if only the engine knows.
  imageState: string | null;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  processes: number;
  egress: string;
  agent: string | null;
  pool: { warm: number; target: number };
}

// The fields of the form for a template, as a person types them.
export const TEMPLATE_FORM_FIELDS = [
  "name",
  "description",
  "image",
  "root",
  "cpus",
  "memoryMb",
  "diskMb",
  "pids",
  "egress",
  "hosts",
  "agent",
  "setup",
  "more",
] as const;
export type TemplateForm = Record<(typeof TEMPLATE_FORM_FIELDS)[number], string>;

export interface ConsoleTemplateCheck {
  // `field` is one of the form.
  faults: { field: string; message: string }[];
  // The text for the templates file; null if there are faults.
  yaml: string | null;
  // Whether a template with this name is configured, which this one would replace.
  replaces: boolean;
}

export interface ConsoleFinding {
  topic: string;
  state: "good" | "note" | "bad";
  text: string;
  cure: string | null;
}
