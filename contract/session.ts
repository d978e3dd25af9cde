import Type, { type Static } from "typebox";

// What the partner API sends and receives about sessions. These schemas are the validation, the types and the
// OpenAPI description at once.

export const DEFAULT_TEMPLATE = "default";
export const TIMEOUT_MS = { minimum: 60_000, maximum: 86_400_000, default: 3_600_000 } as const;
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

export const EnvVars = Type.Record(Type.String(), Type.String({ pattern: PLAIN }), {
  maxProperties: ENV_LIMITS.entries,
  propertyNames: { type: "string", pattern: `^(?!${RESERVED_ENV_PREFIX})[^=\\u0000]{1,${ENV_LIMITS.nameLength}}$` },
  description: `Environment variables for what runs in the sandbox. ${ENV_NAME_RULE}. Names and values have at most 256 KiB together. Never returned.`,
  examples: [{ NODE_ENV: "development" }],
});

export const Metadata = Type.Record(Type.String(), Type.String({ maxLength: METADATA_LIMITS.valueLength, pattern: PLAIN }), {
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
