import Type, { type Static } from "typebox";

// Tokens that open one session, for programs and people who must not have the partner's key.

export const TOKEN_SCOPES = ["exec", "files", "processes", "terminals", "agent", "runs", "ports", "ssh"] as const;

export const TokenScope = Type.Enum([...TOKEN_SCOPES], {
  description:
    "A part of the session: `exec` runs commands; `files` reads and writes files, and uses search, changes and git; `processes` uses processes and programs; `terminals` uses terminals; `agent` uses the agent; `runs` uses the runs of the session; `ports` lists ports and opens previews; `ssh` opens SSH connections.",
});
export type TokenScope = Static<typeof TokenScope>;

export const MAX_ACTIVE_TOKENS = 100;
export const TOKEN_TTL_MS = { min: 1000, max: 30 * 24 * 3_600_000 } as const;
// A preview URL is exchanged for a cookie, which lives for a week at most.
export const PREVIEW_TTL_MS = { min: 1000, max: 7 * 24 * 3_600_000 } as const;

const Time = Type.String({ format: "date-time" });
const Port = Type.Integer({ minimum: 1, maximum: 65_535 });
const Name = Type.String({ maxLength: 100, pattern: "^[^\\u0000]*$", description: "A name for your own use." });
const Scopes = (description: string) =>
  Type.Array(TokenScope, { minItems: 1, maxItems: TOKEN_SCOPES.length, uniqueItems: true, description });

export const CreateSessionToken = Type.Object(
  {
    scopes: Scopes("The parts of the session that the token opens."),
    ports: Type.Optional(
      Type.Array(Port, {
        minItems: 1,
        maxItems: 32,
        uniqueItems: true,
        description:
          "With the scope `ports`: the only ports whose previews the token opens. Such a token does not list the ports. Absent: all ports.",
      }),
    ),
    ttlMs: Type.Integer({
      minimum: TOKEN_TTL_MS.min,
      maximum: TOKEN_TTL_MS.max,
      description: "How long the token works: at most 30 days.",
    }),
    name: Type.Optional(Name),
  },
  { $id: "CreateSessionToken" },
);
export type CreateSessionToken = Static<typeof CreateSessionToken>;

const token = {
  tokenId: Type.String({ description: "The identifier of the token, for a revocation." }),
  name: Name,
  scopes: Scopes("The parts of the session that the token opens."),
  ports: Type.Union([Type.Array(Port), Type.Null()], { description: "The only ports that it opens; null for all." }),
  state: Type.Enum(["active", "expired", "revoked"], { description: "Whether the token works." }),
  createdAt: Type.String({ format: "date-time", description: "The creation time, in UTC." }),
  expiresAt: Type.String({ format: "date-time", description: "When the token stops working, in UTC." }),
  revokedAt: Type.Union([Time, Type.Null()], { description: "When the token was revoked, in UTC; null if it was not." }),
};

export const SessionToken = Type.Object(token, { $id: "SessionToken" });
export type SessionToken = Static<typeof SessionToken>;

const TokenSsh = Type.Object(
  {
    url: Type.String({ format: "uri", description: "The WebSocket that carries SSH connections." }),
    hostKey: Type.Union([Type.String(), Type.Null()], {
      description:
        "The sandbox's host key as in a known_hosts file. null if the session does not run; `GET {sandboxUrl}/ssh` returns it as soon as it does.",
    }),
  },
  { description: "With the scope `ssh`: where SSH is, and how to recognize the sandbox. Otherwise null." },
);

export const SessionTokenWithSecret = Type.Object(
  {
    ...token,
    token: Type.String({ description: "The token itself. This response is the only one that contains it." }),
    ssh: Type.Union([TokenSsh, Type.Null()]),
  },
  { $id: "SessionTokenWithSecret" },
);
export type SessionTokenWithSecret = Static<typeof SessionTokenWithSecret>;

export const SessionTokenList = Type.Object(
  { data: Type.Array(SessionToken, { description: "The tokens, oldest first." }) },
  { $id: "SessionTokenList" },
);
export type SessionTokenList = Static<typeof SessionTokenList>;

export const IssuePreviewUrl = Type.Object(
  {
    port: { ...Port, description: "The port on which the web server in the sandbox listens." },
    ttlMs: Type.Integer({
      minimum: PREVIEW_TTL_MS.min,
      maximum: PREVIEW_TTL_MS.max,
      description: "How long the URL and the browser that opened it can use the port: at most 7 days.",
    }),
    path: Type.Optional(
      Type.String({
        maxLength: 2000,
        pattern: "^/(?![/\\\\])[\\x21-\\x7e]*$",
        default: "/",
        description: "The path at which the web server opens.",
      }),
    ),
  },
  { $id: "IssuePreviewUrl" },
);
export type IssuePreviewUrl = Static<typeof IssuePreviewUrl>;

export const PreviewUrl = Type.Object(
  {
    url: Type.String({ format: "uri", description: "The signed URL. Everyone who has it can use this port." }),
    expiresAt: Type.String({ format: "date-time", description: "When it stops working, in UTC." }),
  },
  { $id: "PreviewUrl" },
);
export type PreviewUrl = Static<typeof PreviewUrl>;
