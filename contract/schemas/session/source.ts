import Type, { type Static } from "typebox";

// Where the files of a session come from, what runs before it is used, and the relays, through which its sandbox uses credentials
// without seeing them.

// A URL without a user, a query or a fragment. The server checks the rest.
export const GIT_URL_PATTERN = "^https?://[^\\s\\u0000-\\u0020@?#\\\\]{1,1024}$";
// The characters that git allows in the name of a branch or a tag, and a commit. A name never begins with a hyphen.
export const GIT_REF_PATTERN = "^(?![-./])(?!.*(\\.\\.|//|@\\{))[\\w./+@#=-]{1,200}(?<![./])$";
// A relative path without empty, hidden-parent or option-like parts.
export const SOURCE_PATH_PATTERN = "^(?!-)(?!.*(^|/)\\.{0,2}(/|$))[^\\u0000-\\u001f\\\\]{1,200}$";
export const RELAY_NAME_PATTERN = "^[A-Z][A-Z0-9_]{0,31}$";
export const MAX_RELAYS = 10;
export const MAX_SETUP_LENGTH = 8192;
// The environment variable with the address of a relay is this and the relay's name.
export const RELAY_VARIABLE_PREFIX = "BERTH_RELAY_";

// A header's value cannot contain line breaks. It is a secret, so the API never returns it.
export const Secret = (description: string) => Type.String({ minLength: 1, maxLength: 4096, pattern: "^[\\x20-\\x7e]+$", description });

const gitSource = {
  url: Type.String({
    pattern: GIT_URL_PATTERN,
    description: "The repository's address, with https or http and without a user or password.",
    examples: ["https://git.example.com/acme/shop.git"],
  }),
  ref: Type.Optional(
    Type.String({
      pattern: GIT_REF_PATTERN,
      description: "A branch, a tag or a full commit id. Default: the repository's default branch.",
    }),
  ),
  depth: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: "Fetch only this many commits of the history." })),
  path: Type.Optional(
    Type.String({ pattern: SOURCE_PATH_PATTERN, description: "The folder below the workspace. Default: the workspace itself." }),
  ),
  submodules: Type.Optional(Type.Boolean({ default: false, description: "Whether to fetch submodules too." })),
};

const GitSource = Type.Object({
  ...gitSource,
  username: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      pattern: "^[\\x21-\\x39\\x3b-\\x7e]+$",
      default: "x-access-token",
      description: "The user name that belongs to the token, for servers that check it.",
    }),
  ),
  token: Type.Optional(
    Secret(
      "A token or password for the repository. It never enters the sandbox: clone, fetch and push of this repository go through the server, which adds it. The API never returns it.",
    ),
  ),
});
export type GitSource = Static<typeof GitSource>;

const filesSource = {
  snapshotId: Type.Optional(
    Type.String({ description: "Start with the files of this snapshot.", examples: ["snp_01k9zq3v8g2p7s9x4z6b8dafhk"] }),
  ),
  sessionId: Type.Optional(
    Type.String({ description: "Start with the files that this session has now: a fork.", examples: ["ses_01k9zq3v8e4m7t2x5c6b9d0fgh"] }),
  ),
};

export const Source = Type.Object(
  { git: Type.Optional(GitSource), ...filesSource },
  {
    $id: "Source",
    description: "Start with the files of a git repository, of a snapshot or of another session. Name exactly one of the three.",
  },
);
export type Source = Static<typeof Source>;

export const SOURCE_STATUSES = ["pending", "ready", "failed"] as const;
export type SourceStatus = (typeof SOURCE_STATUSES)[number];

export const SourceRead = Type.Object(
  {
    git: Type.Optional(Type.Object(gitSource)),
    ...filesSource,
    status: Type.Enum([...SOURCE_STATUSES], { description: "Whether the files are there." }),
    reason: Type.Union([Type.String(), Type.Null()], { description: "Why the source failed, for people; otherwise null." }),
  },
  { $id: "SourceRead" },
);
export type SourceRead = Static<typeof SourceRead>;

export const SetupCommand = Type.String({
  minLength: 1,
  maxLength: MAX_SETUP_LENGTH,
  pattern: "^[^\\u0000]*$",
  description:
    "A shell command that runs once, when the source is there and before the agent starts. Default: `.berth/setup` in the repository, or the template's.",
  examples: ["npm ci"],
});

export const SetupRead = Type.Object(
  {
    status: Type.Enum(["pending", "finished", "none"], { description: "Whether the command has ended. `none`: there was no command." }),
    exitCode: Type.Union([Type.Integer(), Type.Null()], { description: "The command's exit code; null if it has none." }),
  },
  { $id: "SetupRead" },
);
export type SetupRead = Static<typeof SetupRead>;

const relay = {
  name: Type.String({
    pattern: RELAY_NAME_PATTERN,
    description: `Programs in the sandbox find the relay's address in the variable \`${RELAY_VARIABLE_PREFIX}{name}\`.`,
    examples: ["JIRA"],
  }),
  upstream: Type.String({
    pattern: GIT_URL_PATTERN,
    description: "Requests reach only addresses below this one.",
    examples: ["https://jira.example.com/rest/api/3"],
  }),
  header: Type.String({
    pattern: "^[A-Za-z][A-Za-z0-9-]{0,63}$",
    description: "The header that the server adds to every request.",
    examples: ["Authorization"],
  }),
};

export const Relay = Type.Object(
  { ...relay, value: Secret("The header's value, such as `Bearer …`. The API never returns it.") },
  { $id: "Relay" },
);
export type Relay = Static<typeof Relay>;

export const RelayRead = Type.Object(relay, { $id: "RelayRead" });
export type RelayRead = Static<typeof RelayRead>;

// In a template, the value comes from the server's environment, so that it is not in the file.
export const TemplateRelay = Type.Object({ ...relay, valueVariable: Type.String({ minLength: 1 }) });
export type TemplateRelay = Static<typeof TemplateRelay>;

// The secrets that a PATCH may renew.
export const SourceUpdate = Type.Object(
  { git: Type.Object({ token: Secret("The new token. If the source has failed, it is fetched again with it.") }) },
  { $id: "SourceUpdate" },
);

export const RelayUpdate = Type.Object({ name: relay.name, value: Secret("The new value of its header.") }, { $id: "RelayUpdate" });
export type RelayUpdate = Static<typeof RelayUpdate>;
