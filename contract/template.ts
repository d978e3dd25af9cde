import Type, { type Static } from "typebox";

// A named recipe for a sandbox. `server/templates.ts` reads them from a file and fills the defaults in.

export const AgentSpec = Type.Object({
  command: Type.String({ minLength: 1 }),
  args: Type.Array(Type.String(), { default: [] }),
  env: Type.Record(Type.String(), Type.String(), { default: {} }),
  // The agent is started only when each of these is set (by the template, the session's envVars or the model relay).
  requiredEnv: Type.Array(Type.String(), { default: [] }),
});
export type AgentSpec = Static<typeof AgentSpec>;

export const EgressPolicy = Type.Union([
  Type.Object({ policy: Type.Literal("none") }),
  Type.Object({ policy: Type.Literal("public") }),
  Type.Object({ policy: Type.Literal("hosts"), hosts: Type.Array(Type.String({ minLength: 1 })) }),
]);
export type EgressPolicy = Static<typeof EgressPolicy>;

// With `provider` and `apiKeyVariable` a model of the template's own, without them the server's with other limits.
export const ModelSpec = Type.Object({
  provider: Type.Optional(Type.Union([Type.Literal("openai"), Type.Literal("anthropic")])),
  baseUrl: Type.Optional(Type.String({ minLength: 1 })),
  // The variable of the server's own environment that holds the key.
  apiKeyVariable: Type.Optional(Type.String({ minLength: 1 })),
  name: Type.Optional(Type.String({ minLength: 1 })),
  tokenCap: Type.Optional(Type.Integer({ minimum: 1 })),
  // Lets requests use tools that the provider runs, URLs that it fetches and state that it keeps: a way out of the sandbox.
  serverTools: Type.Optional(Type.Boolean()),
});
export type ModelSpec = Static<typeof ModelSpec>;

export const Template = Type.Object({
  name: Type.String({ pattern: "^[a-z0-9][a-z0-9-]{0,62}$" }),
  description: Type.Optional(Type.String()),
  // oci: an unpacked root file system. Absent: the host's /usr, read-only.
  root: Type.Optional(Type.String()),
  // docker and kubernetes: the image. Absent: the configured default image.
  image: Type.Optional(Type.String()),
  // docker: the runtime's name (runsc); kubernetes: the runtimeClassName.
  runtime: Type.Optional(Type.String()),
  memoryMb: Type.Integer({ minimum: 64, default: 2048 }),
  cpus: Type.Number({ exclusiveMinimum: 0, default: 1 }),
  pids: Type.Integer({ minimum: 16, default: 512 }),
  tmpMb: Type.Integer({ minimum: 1, default: 512 }),
  diskMb: Type.Integer({ minimum: 16, default: 10240 }),
  env: Type.Record(Type.String(), Type.String(), { default: {} }),
  egress: EgressPolicy,
  // What differs from the server's model for the sessions of this template; reached through the server all the same.
  model: Type.Optional(ModelSpec),
  // null: no agent in this template.
  agent: Type.Union([AgentSpec, Type.Null()]),
  // Where the sandbox has no program for `agent`, the first of these that it has a program for.
  fallbackAgents: Type.Optional(Type.Array(AgentSpec)),
});
export type Template = Static<typeof Template>;
