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

export const CreateSession = Type.Object(
  {
    externalUserId: Type.String({ minLength: 1, maxLength: 256, description: "Identifier of the user in the partner's own system." }),
    envVars: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: "Environment variables for what runs in the sandbox." }),
    ),
    template: Type.Optional(Type.String({ default: DEFAULT_TEMPLATE, description: "Sandbox template." })),
    timeoutMs: Type.Optional(
      Type.Integer({ ...TIMEOUT_MS, description: "Time until the session is paused, from create or the last resume." }),
    ),
    autoStartAgent: Type.Optional(Type.Boolean({ default: true, description: "Whether the coding agent starts by itself." })),
    metadata: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "Additional metadata." })),
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
