import Type, { type Static } from "typebox";

// What the partner API sends and receives about sessions. These schemas are the validation, the types and the
// OpenAPI description at once.

export const DEFAULT_TEMPLATE = "default";
const TIMEOUT_RANGE = { minimum: 60_000, maximum: 86_400_000 } as const;
export const TIMEOUT_MS = { ...TIMEOUT_RANGE, default: 3_600_000 } as const;
export const MAX_BODY_BYTES = 1024 * 1024;
export const ENV_LIMITS = { entries: 100, nameLength: 128, totalBytes: 256 * 1024 } as const;
export const METADATA_LIMITS = { entries: 50, keyLength: 64, valueLength: 512 } as const;
// Names with this prefix are ours inside a sandbox.
export const RESERVED_ENV_PREFIX = "BERTH_";

// Text that reaches a database or an environment cannot hold NUL.
const PLAIN = "^[^\\u0000]*$";
export const ENV_NAME_RULE = "A name has 1 to 128 characters, no = and no NUL, and does not begin with BERTH_";
export const METADATA_KEY_RULE = "A key has 1 to 64 characters and no NUL";

export const SESSION_STATUSES = ["running", "paused", "destroyed"] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

export const STOP_REASONS = ["api", "timeout", "retention", "sandbox_lost"] as const;

export const Session = Type.Object(
  {
    sessionId: Type.String({ description: "Identifier of the session; `{id}` in paths.", examples: ["ses_01k9zq3v8e4m7t2x5c6b9d0fgh"] }),
    sandboxId: Type.String({
      description: "Identifier of the sandbox that backs the session.",
      examples: ["sbx_01k9zq3v8f1n6r8w3y5a7c9efj"],
    }),
    status: Type.Enum([...SESSION_STATUSES], { description: "State of the session." }),
    sandboxUrl: Type.String({ format: "uri", description: "Address of the running sandbox: its API, for the partner's key." }),
    createdAt: Type.String({ format: "date-time", description: "Creation time, UTC, millisecond precision." }),
  },
  { $id: "Session" },
);
export type Session = Static<typeof Session>;

// Without a pattern of ours a name with a line break would be looked over, and its value with it.
const AnyName = Type.String({ pattern: "^[\\s\\S]*$" });

export const EnvVars = Type.Record(AnyName, Type.String({ pattern: PLAIN }), {
  maxProperties: ENV_LIMITS.entries,
  propertyNames: { type: "string", pattern: `^(?!${RESERVED_ENV_PREFIX})[^=\\u0000]{1,${ENV_LIMITS.nameLength}}$` },
  description: `Environment variables for what runs in the sandbox. ${ENV_NAME_RULE}. Names and values have at most 256 KiB together. Never returned.`,
  examples: [{ NODE_ENV: "development" }],
});

export const Metadata = Type.Record(AnyName, Type.String({ maxLength: METADATA_LIMITS.valueLength, pattern: PLAIN }), {
  maxProperties: METADATA_LIMITS.entries,
  propertyNames: { type: "string", pattern: `^[^\\u0000]{1,${METADATA_LIMITS.keyLength}}$` },
  description: `Additional metadata. ${METADATA_KEY_RULE}; a value has at most ${METADATA_LIMITS.valueLength} characters.`,
  examples: [{ plan: "pro" }],
});

const ExternalUserId = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: PLAIN,
  description: "Identifier of the user in the partner's own system.",
  examples: ["user-42"],
});
const TimeoutMs = Type.Integer({ ...TIMEOUT_MS, description: "Time until the session is paused, from create or the last resume." });

export const CreateSession = Type.Object(
  {
    externalUserId: ExternalUserId,
    envVars: Type.Optional(EnvVars),
    template: Type.Optional(
      Type.String({ default: DEFAULT_TEMPLATE, description: "Sandbox template: one that the operator has configured." }),
    ),
    timeoutMs: Type.Optional(TimeoutMs),
    autoStartAgent: Type.Optional(Type.Boolean({ default: true, description: "Whether the coding agent starts by itself." })),
    metadata: Type.Optional(Metadata),
  },
  { $id: "CreateSession" },
);
export type CreateSession = Static<typeof CreateSession>;

// What `?expand=details` adds to a session.
const details = {
  externalUserId: Type.Optional(ExternalUserId),
  template: Type.Optional(Type.String({ description: "Sandbox template." })),
  metadata: Type.Optional(Metadata),
  expiresAt: Type.Optional(
    Type.Union([Type.String({ format: "date-time" }), Type.Null()], {
      description: "When the session times out; null when it does not run.",
    }),
  ),
  stopReason: Type.Optional(
    Type.Union([Type.Enum([...STOP_REASONS]), Type.Null()], {
      description: "Why it was last paused or destroyed: by a call, its timeout, the end of retention, or because its sandbox was lost.",
    }),
  ),
};

export const SessionRead = Type.Object({ ...Session.properties, ...details }, { $id: "SessionRead" });
export type SessionRead = Static<typeof SessionRead>;

export const SessionList = Type.Object(
  {
    data: Type.Array(SessionRead, { description: "Newest first." }),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description: "For the next page; null at the end. A page may be short and yet not the last.",
    }),
  },
  { $id: "SessionList" },
);
export type SessionList = Static<typeof SessionList>;

export const UpdateSession = Type.Object(
  {
    timeoutMs: Type.Optional(
      Type.Integer({ ...TIMEOUT_RANGE, description: "The session times out this long from now (a paused one: from its next resume)." }),
    ),
    metadata: Type.Optional(Metadata),
  },
  { $id: "UpdateSession" },
);
export type UpdateSession = Static<typeof UpdateSession>;

export const ResumeSession = Type.Object({ autoStartAgent: Type.Optional(Type.Boolean({ default: true })) }, { $id: "ResumeSession" });
export type ResumeSession = Static<typeof ResumeSession>;

export const ResumedSession = Type.Object(
  {
    status: Type.Enum([...SESSION_STATUSES]),
    sandboxId: Type.String(),
    sandboxUrl: Type.String({ format: "uri" }),
  },
  { $id: "ResumedSession" },
);
export type ResumedSession = Static<typeof ResumedSession>;

export const StatusOnly = Type.Object({ status: Type.Enum([...SESSION_STATUSES]) }, { $id: "Status" });
export type StatusOnly = Static<typeof StatusOnly>;

export const LaunchUrl = Type.Object(
  {
    url: Type.String({ format: "uri", description: "Signed URL to open in a browser." }),
    expiresAt: Type.Number({ description: "Expiry, Unix time in milliseconds." }),
  },
  { $id: "LaunchUrl" },
);
export type LaunchUrl = Static<typeof LaunchUrl>;

export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: "Human-readable message." }),
    details: Type.Optional(
      Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), { description: "Present on validation failures." }),
    ),
  },
  { $id: "Error" },
);
export type ErrorBody = Static<typeof ErrorBody>;
