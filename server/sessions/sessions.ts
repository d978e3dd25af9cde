import type {
  EgressPolicy,
  GitSource,
  McpServer,
  McpServerUpdate,
  Relay,
  RelayUpdate,
  Resources,
  TimeoutAction,
  VolumeMount,
} from "@berth/contract";
import type { ListFilter, SessionPage } from "../store/sessions/listing/list.ts";
import type { SessionView } from "../store/sessions/listing/view.ts";
import type { SessionFiles } from "./snapshots/snapshots.ts";
import type { Span } from "../tracing/span.ts";
import type { Recorder } from "./states/transitions.ts";

export type { ListFilter, ListPosition, SessionPage } from "../store/sessions/listing/list.ts";
export type { SessionView } from "../store/sessions/listing/view.ts";
export type { Recorder } from "./states/transitions.ts";

// The session service. Every method is scoped to a partner: another partner's session is not
// found. Errors are AppErrors with the codes of the contract.
export interface Sessions extends AsyncDisposable {
  create(partner: PartnerLimits, request: CreateRequest, options?: ChangeOptions): Promise<SessionView>;
  get(partnerId: string, id: string): Promise<SessionView>;
  // The same, but without a promise if the session is in memory: it then throws what `get` rejects with.
  read(partnerId: string, id: string): SessionView | Promise<SessionView>;
  pause(partnerId: string, id: string, options?: ChangeOptions): Promise<SessionView>;
  resume(partnerId: string, id: string, options: ChangeOptions & { autoStartAgent: boolean }): Promise<SessionView>;
  destroy(partnerId: string, id: string, options?: ChangeOptions): Promise<SessionView>;
  // `timeoutMs` counts from now for a running session and from the next resume for a paused one. `egress` and `resources` hold at once
  // for a running session, on another server within a second, and otherwise from the next resume. A destroyed session is not found.
  update(partnerId: string, id: string, change: SessionChange, options?: ChangeOptions): Promise<SessionView>;
  // Resumes a session with `autoResume` that is paused, for someone who opens it; no-op if it is running. Many callers share one resume,
  // also across servers. Rejects with `session_resuming` if it takes too long, and `session_paused` without `autoResume`.
  wake(partnerId: string, id: string): Promise<SessionView>;
  // Adds the timeout of a running session once more, as far as `extendUntil` allows. No-op if it does not.
  extend(partnerId: string, id: string): Promise<SessionView>;
  // Fetches a failed source again. 409 unless it has failed.
  retrySource(partnerId: string, id: string, options?: ChangeOptions): Promise<SessionView>;
  // Newest first.
  list(partnerId: string, filter: ListFilter): Promise<SessionPage>;
  // For gateway and relay, which know the sandbox. null if no partner knows it.
  bySandbox(sandboxId: string): Promise<SessionView | null>;
  // Calls back after every change of a session's state that this server makes.
  onChange(listener: (session: SessionView) => void): Disposable;
}

export interface PartnerLimits {
  id: string;
  maxSessions: number | null;
  maxSessionsPerUser: number | null;
  idleTimeoutMs: number | null;
  // The defaults for sessions without rules of their own or of their template.
  autoResume?: boolean | null;
  onTimeout?: TimeoutAction | null;
  maxTimeoutMs?: number | null;
}

// A create request after validation, with its defaults.
export interface CreateRequest extends SetupRequest {
  externalUserId: string;
  envVars: Record<string, string>;
  template: string;
  timeoutMs: number;
  // null: none. Absent: that of the template, otherwise that of the partner.
  idleTimeoutMs?: number | null;
  autoStartAgent: boolean;
  metadata: Record<string, string>;
  // Absent: as for `idleTimeoutMs`, and then that of the server.
  autoResume?: boolean;
  onTimeout?: TimeoutAction;
  // Within what the template allows. Absent: as the template says.
  resources?: Resources;
  egress?: EgressPolicy;
  volumes?: VolumeMount[];
}

// The part of a create request that says how the session is set up.
export interface SetupRequest {
  source?: { git: GitSource };
  // The snapshot from which the files of the sandbox are copied, instead of a source.
  files?: SessionFiles;
  // A shell command.
  setup?: string;
  relays?: Relay[];
  mcpServers?: McpServer[];
}

export interface ChangeOptions {
  // Runs in the transaction that makes the change. If it throws, the change is rolled back. Not called if nothing changes,
  // for instance if a destroyed session is destroyed again.
  record?: Recorder | undefined;
  // The span of the request that makes the change.
  span?: Span | undefined;
}

export interface SessionChange {
  timeoutMs?: number;
  // Counts from now for a running session. null: none.
  idleTimeoutMs?: number | null;
  // Replaces all metadata.
  metadata?: Record<string, string>;
  autoResume?: boolean;
  onTimeout?: TimeoutAction;
  // Within what the template allows; null: as the template says. Resources that are not named stay as they are.
  resources?: Resources | null;
  egress?: EgressPolicy | null;
  // With `egress`: whether open connections that it forbids are closed.
  closeConnections?: boolean;
  // Replaces the token of the git source.
  gitToken?: string;
  // New values of relays.
  relayValues?: readonly RelayUpdate[];
  // The same for MCP servers.
  mcpValues?: readonly McpServerUpdate[];
}
