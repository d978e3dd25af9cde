import Type, { type Static } from "typebox";
import { MAX_DISPLAY_NAME_LENGTH } from "../../workspace/visitor.ts";
import { changeRules, createRules, ruleDetails } from "./session-rules.ts";
import { RunStarted, StartRun } from "../run/run.ts";
import { MAX_MCP_SERVERS, McpServerRead, McpServers, McpServerUpdate } from "./mcp-server.ts";
import { VolumeMount, VolumeMounts } from "../volume.ts";
import { MAX_RELAYS, Relay, RelayRead, RelayUpdate, SetupCommand, SetupRead, Source, SourceRead, SourceUpdate } from "./source.ts";

// The session bodies of the partner API. These schemas are the source of the validation, the types and the OpenAPI
// description.

export const DEFAULT_TEMPLATE = "default";
const TIMEOUT_RANGE = { minimum: 60_000, maximum: 86_400_000 } as const;
export const TIMEOUT_MS = { ...TIMEOUT_RANGE, default: 3_600_000 } as const;
export const IDLE_TIMEOUT_RANGE = { minimum: 120_000, maximum: 86_400_000 } as const;
export const MAX_BODY_BYTES = 1024 * 1024;
export const ENV_LIMITS = { entries: 100, nameLength: 128, totalBytes: 256 * 1024 } as const;
export const METADATA_LIMITS = { entries: 50, keyLength: 64, valueLength: 512 } as const;
// Reserved for Berth inside a sandbox.
export const RESERVED_ENV_PREFIX = "BERTH_";

// Sessions that one call may create from one source.
export const MAX_FORKS = 20;

// Databases and environment variables cannot store NUL.
const PLAIN = "^[^\\u0000]*$";
// No control characters, and none that reverse the order of the text around a name.
const PRINTABLE = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]*$";
export const ENV_NAME_RULE = "A name has 1 to 128 characters, no = and no NUL, and does not begin with BERTH_";
export const METADATA_KEY_RULE = "A key has 1 to 64 characters and no NUL";

export const SESSION_STATUSES = ["running", "paused", "destroyed"] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

export const STOP_REASONS = ["api", "timeout", "idle", "retention", "sandbox_lost", "disk_full", "disk_failed"] as const;

export const Session = Type.Object(
  {
    sessionId: Type.String({
      description: "The session's identifier. Use it as `{id}` in paths.",
      examples: ["ses_01k9zq3v8e4m7t2x5c6b9d0fgh"],
    }),
    sandboxId: Type.String({
      description: "The identifier of the sandbox that backs the session.",
      examples: ["sbx_01k9zq3v8f1n6r8w3y5a7c9efj"],
    }),
    status: Type.Enum([...SESSION_STATUSES], { description: "The state of the session." }),
    sandboxUrl: Type.String({
      format: "uri",
      description: "The address of the running sandbox. Your backend reaches the sandbox's own API below it, with the same API key.",
    }),
    createdAt: Type.String({ format: "date-time", description: "The creation time, in UTC with millisecond precision." }),
  },
  { $id: "Session" },
);
export type Session = Static<typeof Session>;

export const CreatedSession = Type.Object({ ...Session.properties, run: Type.Optional(RunStarted) }, { $id: "CreatedSession" });
export type CreatedSession = Static<typeof CreatedSession>;

// TypeBox's default pattern does not match a name with a line break, and would skip the validation of its value.
const AnyName = Type.String({ pattern: "^[\\s\\S]*$" });

export const EnvVars = Type.Record(AnyName, Type.String({ pattern: PLAIN }), {
  maxProperties: ENV_LIMITS.entries,
  propertyNames: { type: "string", pattern: `^(?!${RESERVED_ENV_PREFIX})[^=\\u0000]{1,${ENV_LIMITS.nameLength}}$` },
  description: `Environment variables for the programs in the sandbox. ${ENV_NAME_RULE}. Names and values together have at most 256 KiB. The API never returns them.`,
  examples: [{ NODE_ENV: "development" }],
});

export const Metadata = Type.Record(AnyName, Type.String({ maxLength: METADATA_LIMITS.valueLength, pattern: PLAIN }), {
  maxProperties: METADATA_LIMITS.entries,
  propertyNames: { type: "string", pattern: `^[^\\u0000]{1,${METADATA_LIMITS.keyLength}}$` },
  description: `Your own data about the session. ${METADATA_KEY_RULE}. A value has at most ${METADATA_LIMITS.valueLength} characters.`,
  examples: [{ plan: "pro" }],
});

const ExternalUserId = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: PLAIN,
  description: "The identifier of the user in your own system.",
  examples: ["user-42"],
});
const TimeoutMs = Type.Integer({
  ...TIMEOUT_MS,
  description:
    "The time in milliseconds after which the session is paused, or destroyed if `onTimeout` says so, counted from its creation or last resume.",
});

const idleTimeoutMs = (description: string) => Type.Union([Type.Integer({ ...IDLE_TIMEOUT_RANGE }), Type.Null()], { description });

export const CreateSession = Type.Object(
  {
    externalUserId: ExternalUserId,
    envVars: Type.Optional(EnvVars),
    template: Type.Optional(
      Type.String({ default: DEFAULT_TEMPLATE, description: "The sandbox template. The operator configures which ones exist." }),
    ),
    timeoutMs: Type.Optional(TimeoutMs),
    idleTimeoutMs: Type.Optional(
      idleTimeoutMs(
        "Pause the session after this many milliseconds in which it was not used; `timeoutMs` still applies. null: never. The default is that of the template or of your account, normally none.",
      ),
    ),
    autoStartAgent: Type.Optional(
      Type.Boolean({ default: true, description: "Whether the coding agent in the sandbox starts automatically." }),
    ),
    metadata: Type.Optional(Metadata),
    ...createRules,
    source: Type.Optional(Source),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_FORKS,
        description:
          "With a snapshot or a session as the source: create this many sessions. The response is then 207, with a result for each of them.",
      }),
    ),
    setup: Type.Optional(SetupCommand),
    relays: Type.Optional(
      Type.Array(Relay, {
        maxItems: MAX_RELAYS,
        description: "APIs that programs in the sandbox may call with a credential that only the server knows.",
      }),
    ),
    mcpServers: Type.Optional(McpServers),
    volumes: Type.Optional({
      ...VolumeMounts,
      description:
        "Volumes to mount. They replace those of the template with the same name. The session keeps them until it is destroyed, also while it is paused.",
    }),
    run: Type.Optional(StartRun),
  },
  { $id: "CreateSession" },
);
export type CreateSession = Static<typeof CreateSession>;

// The fields that `?expand=details` adds to a session.
const details = {
  externalUserId: Type.Optional(ExternalUserId),
  template: Type.Optional(Type.String({ description: "The sandbox template." })),
  metadata: Type.Optional(Metadata),
  idleTimeoutMs: Type.Optional(idleTimeoutMs("The time without use after which the session is paused; null if there is none.")),
  source: Type.Optional(SourceRead),
  setup: Type.Optional(SetupRead),
  image: Type.Optional(
    Type.String({
      description: "The image of the repository's devcontainer.json in which the sandbox runs; absent if it is the template's.",
    }),
  ),
  relays: Type.Optional(Type.Array(RelayRead)),
  mcpServers: Type.Optional(Type.Array(McpServerRead, { description: "The MCP servers that the create named." })),
  volumes: Type.Optional(Type.Array(VolumeMount, { description: "The volumes that the session mounts." })),
  expiresAt: Type.Optional(
    Type.Union([Type.String({ format: "date-time" }), Type.Null()], {
      description: "When the timeout will pause or destroy the session; null unless it is running.",
    }),
  ),
  stopReason: Type.Optional(
    Type.Union([Type.Enum([...STOP_REASONS]), Type.Null()], {
      description:
        "Why the session was last paused or destroyed: by an API call, by its timeout, because it was idle, by the end of its retention, or because its sandbox was lost.",
    }),
  ),
  ...ruleDetails,
};

export const SessionRead = Type.Object({ ...Session.properties, ...details }, { $id: "SessionRead" });
export type SessionRead = Static<typeof SessionRead>;

export const SessionList = Type.Object(
  {
    data: Type.Array(SessionRead, { description: "The sessions, newest first." }),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description:
        "Pass it as `cursor` to get the next page; null on the last page. A page may have fewer than `limit` entries without being the last.",
    }),
  },
  { $id: "SessionList" },
);
export type SessionList = Static<typeof SessionList>;

export const UpdateSession = Type.Object(
  {
    timeoutMs: Type.Optional(
      Type.Integer({
        ...TIMEOUT_RANGE,
        description: "The new timeout in milliseconds, counted from now or, for a paused session, from its next resume.",
      }),
    ),
    idleTimeoutMs: Type.Optional(idleTimeoutMs("The new idle timeout in milliseconds, counted from now; null for none.")),
    metadata: Type.Optional(Metadata),
    ...changeRules,
    source: Type.Optional(SourceUpdate),
    relays: Type.Optional(Type.Array(RelayUpdate, { maxItems: MAX_RELAYS, description: "New values for relays of the session." })),
    mcpServers: Type.Optional(
      Type.Array(McpServerUpdate, { maxItems: MAX_MCP_SERVERS, description: "New values for the headers of MCP servers of the session." }),
    ),
  },
  { $id: "UpdateSession" },
);
export type UpdateSession = Static<typeof UpdateSession>;

export const ResumeSession = Type.Object(
  {
    autoStartAgent: Type.Optional(
      Type.Boolean({ default: true, description: "Whether the coding agent in the sandbox starts automatically." }),
    ),
  },
  { $id: "ResumeSession" },
);
export type ResumeSession = Static<typeof ResumeSession>;

export const ResumedSession = Type.Object(
  {
    status: Type.Enum([...SESSION_STATUSES], { description: "The state of the session." }),
    sandboxId: Type.String({ description: "The identifier of the sandbox that backs the session." }),
    sandboxUrl: Type.String({ format: "uri", description: "The address of the running sandbox." }),
  },
  { $id: "ResumedSession" },
);
export type ResumedSession = Static<typeof ResumedSession>;

export const StatusOnly = Type.Object(
  { status: Type.Enum([...SESSION_STATUSES], { description: "The state of the session." }) },
  { $id: "Status" },
);
export type StatusOnly = Static<typeof StatusOnly>;

export const IssueLaunchUrl = Type.Object(
  {
    role: Type.Optional(
      Type.Enum(["editor", "viewer"], {
        default: "editor",
        description: "An `editor` may do everything in the workspace. A `viewer` sees it and changes nothing.",
      }),
    ),
    displayName: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_DISPLAY_NAME_LENGTH,
        pattern: PRINTABLE,
        description: "The name of the person, for others in the same workspace. Default: `Guest`.",
      }),
    ),
  },
  { $id: "IssueLaunchUrl" },
);
export type IssueLaunchUrl = Static<typeof IssueLaunchUrl>;

export const LaunchUrl = Type.Object(
  {
    url: Type.String({ format: "uri", description: "The signed URL to open in the user's browser." }),
    expiresAt: Type.Number({ description: "When the URL expires, as a Unix timestamp in milliseconds." }),
    role: Type.Optional(Type.Enum(["editor", "viewer"], { description: "The role that the request asked for." })),
  },
  { $id: "LaunchUrl" },
);
export type LaunchUrl = Static<typeof LaunchUrl>;

export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: "A message for people. Its wording may change." }),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          field: Type.String({ description: "The path of the field, such as `envVars.FOO`." }),
          message: Type.String({ description: "What is wrong with the field." }),
        }),
        { description: "One entry per invalid field. Present if validation failed." },
      ),
    ),
  },
  { $id: "Error" },
);
export type ErrorBody = Static<typeof ErrorBody>;
