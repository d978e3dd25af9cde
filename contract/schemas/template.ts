import Type, { type Static } from "typebox";
import { ID_BODY } from "../ids.ts";
import { IMAGE_PATTERN } from "../matching/image-patterns.ts";
import { EgressPolicy } from "./session/egress.ts";
import { MAX_MCP_SERVERS, TemplateMcpServer } from "./session/mcp-server.ts";
import { PermissionRules } from "./run/permission-rule.ts";
import { IDLE_TIMEOUT_RANGE } from "./session/session.ts";
import { MAX_TIMEOUT_RANGE, Resources, TIMEOUT_ACTIONS } from "./session/session-rules.ts";
import { MAX_RELAYS, SetupCommand, TemplateRelay } from "./session/source.ts";
import { VolumeMounts } from "./volume.ts";

// A named configuration for sandboxes. The server reads templates from a file and fills in the defaults.

export const AgentSpec = Type.Object({
  command: Type.String({ minLength: 1 }),
  args: Type.Array(Type.String(), { default: [] }),
  env: Type.Record(Type.String(), Type.String(), { default: {} }),
  // The agent only starts if the template, the session's envVars or the model relay sets each of these variables.
  requiredEnv: Type.Array(Type.String(), { default: [] }),
  // The modes in which it asks before it acts, the usual one first. Runs that ask or have rules need one.
  askingModes: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
  // Decide about its questions in all conversations, after the rules of a run. New conversations begin in the first of `askingModes`.
  permissions: Type.Optional(PermissionRules),
});
export type AgentSpec = Static<typeof AgentSpec>;

export const LanguageServerSpec = Type.Object({
  command: Type.String({ minLength: 1 }),
  args: Type.Optional(Type.Array(Type.String())),
  env: Type.Optional(Type.Record(Type.String(), Type.String())),
  initializationOptions: Type.Optional(Type.Unknown()),
  // The values for `workspace/configuration`, by section.
  settings: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});
export type LanguageServerSpec = Static<typeof LanguageServerSpec>;

// With `provider` and `apiKeyVariable`, the template has its own model. Without them, it uses the server's model with other
// limits.
export const ModelSpec = Type.Object({
  provider: Type.Optional(Type.Union([Type.Literal("openai"), Type.Literal("anthropic")])),
  baseUrl: Type.Optional(Type.String({ minLength: 1 })),
  // The name of the server's environment variable with the API key.
  apiKeyVariable: Type.Optional(Type.String({ minLength: 1 })),
  name: Type.Optional(Type.String({ minLength: 1 })),
  tokenCap: Type.Optional(Type.Integer({ minimum: 1 })),
  // Allows tools that the provider runs, URLs that it fetches and state that it stores. These bypass the egress policy.
  serverTools: Type.Optional(Type.Boolean()),
});
export type ModelSpec = Static<typeof ModelSpec>;

export const Template = Type.Object({
  name: Type.String({ pattern: "^[a-z0-9][a-z0-9-]{0,62}$" }),
  description: Type.Optional(Type.String()),
  // oci: the folder of an unpacked root file system. Default: the host's /usr, read-only.
  root: Type.Optional(Type.String()),
  // oci: programs may change `root` or the image, on the disk of the sandbox, and run as root or the user of the image. Default: read-only.
  writableRoot: Type.Optional(Type.Boolean()),
  // Not for the driver process. Default: the configured default image or, with oci, `root`.
  image: Type.Optional(Type.String()),
  // The images that a repository's devcontainer.json may ask for, as patterns. Not for the driver process. Default: none.
  allowedImages: Type.Optional(Type.Array(Type.String({ pattern: IMAGE_PATTERN }), { maxItems: 100 })),
  // oci: whether an image is built for a repository whose devcontainer.json has `build` or `features`. Default: false.
  allowBuilds: Type.Optional(Type.Boolean()),
  // docker: the name of the runtime, such as runsc. kubernetes: the runtimeClassName.
  runtime: Type.Optional(Type.String()),
  memoryMb: Type.Integer({ minimum: 64, default: 2048 }),
  cpus: Type.Number({ exclusiveMinimum: 0, default: 1 }),
  pids: Type.Integer({ minimum: 16, default: 512 }),
  tmpMb: Type.Integer({ minimum: 1, default: 512 }),
  diskMb: Type.Integer({ minimum: 16, default: 10240 }),
  // The idle timeout of sessions that name none.
  idleTimeoutMs: Type.Optional(Type.Integer({ ...IDLE_TIMEOUT_RANGE })),
  // Whether a sandbox that uses the processor counts as used.
  busyCounts: Type.Optional(Type.Boolean()),
  // For sessions that name none: whether opening them resumes them, and what their timeout does.
  autoResume: Type.Optional(Type.Boolean()),
  onTimeout: Type.Optional(Type.Enum([...TIMEOUT_ACTIONS])),
  // How long people may keep a session running.
  maxTimeoutMs: Type.Optional(Type.Integer({ ...MAX_TIMEOUT_RANGE })),
  // The most that a session may ask for. Without it, a session has what the template says.
  maxResources: Type.Optional(Resources),
  // The widest egress that a session may ask for. Without it, a session has `egress`.
  maxEgress: Type.Optional(EgressPolicy),
  // The operator's snapshot whose files every new sandbox starts with, unless a create names another source.
  snapshot: Type.Optional(Type.String({ pattern: `^snp_${ID_BODY}$` })),
  // Runs once in a new session, unless the create or the repository names another command.
  setup: Type.Optional(SetupCommand),
  // APIs that sandboxes use with a credential that only the server knows.
  relays: Type.Optional(Type.Array(TemplateRelay, { maxItems: MAX_RELAYS })),
  // MCP servers that the agent uses.
  mcpServers: Type.Optional(Type.Array(TemplateMcpServer, { maxItems: MAX_MCP_SERVERS })),
  // Volumes of the partner, by name. Sessions of such a template do not use the pool.
  volumes: Type.Optional(VolumeMounts),
  env: Type.Record(Type.String(), Type.String(), { default: {} }),
  egress: EgressPolicy,
  // Overrides the server's model for sessions of this template. Requests still go through the server.
  model: Type.Optional(ModelSpec),
  // null for a template without an agent.
  agent: Type.Union([AgentSpec, Type.Null()]),
  // If the program of `agent` is not installed in the sandbox, the daemon uses the first of these that is.
  fallbackAgents: Type.Optional(Type.Array(AgentSpec)),
  // The keys are languages (languages.ts). These servers take precedence over those that the daemon knows.
  languageServers: Type.Optional(Type.Record(Type.String(), LanguageServerSpec)),
});
export type Template = Static<typeof Template>;
