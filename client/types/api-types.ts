import type * as wire from "./wire.ts";

// The bodies of the partner API. wire.ts has them as the API describes them; the names here are those of the package.

export type {
  CreateKey,
  CreateSession,
  CreateSessionToken,
  CreateVolume,
  CreateWebhook,
  Delivery,
  EgressHost,
  IssueLaunchUrl,
  IssuePreviewUrl,
  Key,
  LaunchUrl,
  PreviewUrl,
  Relay,
  RotateKey,
  RunStarted,
  RunSummary,
  SessionToken,
  SessionTokenWithSecret,
  Source,
  StartRun,
  UpdateSession,
  UpdateWebhook,
  Usage,
  UsageReport,
  Volume,
  VolumeMount,
  Webhook,
} from "./wire.ts";

export type SessionData = wire.SessionRead;
export type SessionStatus = SessionData["status"];
export type SourceData = wire.SourceRead;
export type SetupData = wire.SetupRead;
export type Resources = NonNullable<wire.CreateSession["resources"]>;
export type SessionEgress = NonNullable<wire.CreateSession["egress"]>;
// A host with the methods and paths that are allowed there.
export type EgressRule = Exclude<NonNullable<SessionEgress["hosts"]>[number], string>;
export type GitSource = NonNullable<wire.Source["git"]>;
export type SnapshotData = wire.Snapshot;
export type BerthEvent = wire.Event;
export type EventType = BerthEvent["type"];
export type KeyScope = wire.Key["scope"];

export type RunData = wire.Run;
export type RunStatus = RunData["status"];
export type RunAnswer = wire.AnswerRun;
export type RunEvent = wire.RunEvent;
// A run without what the events before have said.
export type RunNow = wire.RunNow;
export type RunPermissions = NonNullable<wire.StartRun["permissions"]>;
export type PermissionRule = Exclude<RunPermissions, string>[number];
export type RunAttachment = NonNullable<wire.StartRun["attachments"]>[number];
export type RunQuestion = Extract<RunData["waitsFor"][number], { kind: "permission" }>;
// A form to fill in, or an address to open.
export type RunForm = Exclude<RunData["waitsFor"][number], RunQuestion>;

export interface ListSessions {
  status?: SessionStatus;
  externalUserId?: string;
  metadata?: Record<string, string>;
  // The number of sessions per request (1 to 100), not in total.
  pageSize?: number;
}

export interface ListRuns {
  status?: RunStatus;
  // The number of runs per request (1 to 100), not in total.
  pageSize?: number;
}

export interface ForkedSessions {
  // Either a session or an error.
  sessions: { session: SessionData | null; error: { code: string; message: string } | null }[];
}

export interface Page<T> {
  data: T[];
  nextCursor: string | null;
}

export interface FieldFault {
  field: string;
  message: string;
}

export type UsageGroup = "day" | "session" | "user" | "template";

export interface UsageRequest {
  // Days in UTC, such as 2030-01-31. `to` is the first day after the report.
  from?: string;
  to?: string;
  // Without groups, the report is one row.
  groupBy?: readonly UsageGroup[];
}
