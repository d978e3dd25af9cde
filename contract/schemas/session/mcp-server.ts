import Type, { type Static } from "typebox";
import { GIT_URL_PATTERN, Secret } from "./source.ts";

// MCP servers that a session's agent uses.

export const MAX_MCP_SERVERS = 16;
const describe = (description: string) => ({ description });

const server = {
  name: Type.String({
    pattern: "^[A-Za-z][A-Za-z0-9_]{0,27}$",
    description: "The name by which the agent knows it.",
    examples: ["jira"],
  }),
  url: Type.Optional(
    Type.String({
      pattern: GIT_URL_PATTERN,
      description: "The address of a server that speaks HTTP. The agent reaches it through the Berth server, and nothing else there.",
      examples: ["https://mcp.example.com/mcp"],
    }),
  ),
  header: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z][A-Za-z0-9-]{0,63}$",
      description: "With `url`: the header that the Berth server adds to every request.",
      examples: ["Authorization"],
    }),
  ),
  command: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      pattern: "^[^\\u0000]*$",
      description: "Instead of `url`: a program in the sandbox, which the agent starts. It has the variables of the session.",
      examples: ["npx"],
    }),
  ),
  args: Type.Optional(
    Type.Array(Type.String({ maxLength: 4096, pattern: "^[^\\u0000]*$" }), { maxItems: 64, description: "The arguments of `command`." }),
  ),
};

export const McpServer = Type.Object(
  {
    ...server,
    value: Type.Optional(Secret("The value of `header`, such as `Bearer …`. It never enters the sandbox, and the API never returns it.")),
  },
  { $id: "McpServer" },
);
export type McpServer = Static<typeof McpServer>;

export const McpServers = Type.Array(McpServer, {
  maxItems: MAX_MCP_SERVERS,
  description: "MCP servers for the agent of the session. They replace those of the template with the same name.",
});

export const McpServerRead = Type.Object(
  {
    name: server.name,
    host: Type.Optional(Type.String(describe("The host of its address."))),
    command: Type.Optional(Type.String(describe("Its program in the sandbox."))),
  },
  { $id: "McpServerRead" },
);
export type McpServerRead = Static<typeof McpServerRead>;

// The secrets that a PATCH may renew.
export const McpServerUpdate = Type.Object(
  { name: server.name, value: Secret("The new value of its header.") },
  { $id: "McpServerUpdate" },
);
export type McpServerUpdate = Static<typeof McpServerUpdate>;

// In a template, the value comes from the server's environment, so that it is not in the file.
export const TemplateMcpServer = Type.Object({ ...server, valueVariable: Type.Optional(Type.String({ minLength: 1 })) });
export type TemplateMcpServer = Static<typeof TemplateMcpServer>;
