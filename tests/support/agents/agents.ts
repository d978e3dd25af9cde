import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentSpec } from "@berth/contract";
import { KNOWN_AGENTS, type KnownAgent } from "../../../server/agents/catalogue.ts";
import { machine, type Missing } from "../machine.ts";
import type { ModelReply, ModelServer, ToolCall } from "./model-server.ts";

// The real agents that tests run with. An entry holds the differences between agents: the tools that a model calls, and what
// the agent reports.
export interface TestAgent {
  name: KnownAgent;
  spec: AgentSpec;
  missing: Missing;
  // Variables that make it ask before it writes a file.
  askFirst: Record<string, string>;
  // The tool that must read a file before the agent may change it; null if there is none.
  read: ((path: string) => ToolCall) | null;
  write(path: string, content: string): ToolCall;
  // The same for OpenAI's own models, to which some agents offer other tools.
  writeForOpenAi(path: string, content: string): ModelReply;
  edit(path: string, before: string, after: string): ToolCall;
  shell(command: string): ToolCall;
  // The title of the tool call that writes a file.
  writeTitle(name: string): string;
  // How to make it ask within a conversation: the mode to choose, and the variables that this mode needs.
  asking: { mode: string; envVars: Record<string, string> };
  // A mode in which it does not change files without permission.
  carefulMode: string;
  // One of the commands that it offers.
  command: string;
  // A model that it offers besides the configured one.
  otherModel: string | null;
  // The variables that it reports as missing when no model is configured.
  missingVariables: string[];
  // The variables with which a partner can name the model, besides its key.
  modelVariables: Record<string, string>[];
  // Whether it reports a title of the conversation and the usage of the context window.
  reportsConversation: boolean;
}

export const AGENTS: readonly TestAgent[] = [
  {
    name: "goose",
    spec: KNOWN_AGENTS.goose,
    missing: machine.agent("goose"),
    askFirst: { GOOSE_MODE: "approve" },
    read: null,
    write: (path, content) => ({ tool: "write", input: { path, content } }),
    writeForOpenAi: (path, content) => ({ tool: "write", input: { path, content } }),
    edit: (path, before, after) => ({ tool: "edit", input: { path, before, after } }),
    shell: (command) => ({ tool: "developer__shell", input: { command } }),
    writeTitle: (name) => `write · ${name}`,
    asking: { mode: "approve", envVars: {} },
    carefulMode: "approve",
    command: "compact",
    otherModel: "gpt-5.6",
    missingVariables: ["GOOSE_PROVIDER", "GOOSE_MODEL"],
    modelVariables: [{ GOOSE_PROVIDER: "openai", GOOSE_MODEL: "m" }, { OPENAI_MODEL: "m" }],
    reportsConversation: true,
  },
  {
    name: "opencode",
    spec: KNOWN_AGENTS.opencode,
    missing: machine.agent("opencode"),
    askFirst: { OPENCODE_PERMISSION: JSON.stringify({ edit: "ask" }) },
    read: (filePath) => ({ tool: "read", input: { filePath } }),
    write: (filePath, content) => ({ tool: "write", input: { filePath, content } }),
    writeForOpenAi: (path, content) => ({
      tool: "apply_patch",
      input: { patchText: `*** Begin Patch\n*** Add File: ${path}\n${content.replace(/^(?=.)/gm, "+")}*** End Patch` },
    }),
    edit: (filePath, oldString, newString) => ({ tool: "edit", input: { filePath, oldString, newString } }),
    shell: (command) => ({ tool: "bash", input: { command, description: "Runs it" } }),
    writeTitle: (name) => name,
    asking: { mode: "build", envVars: { OPENCODE_PERMISSION: JSON.stringify({ edit: "ask" }) } },
    carefulMode: "plan",
    command: "review",
    otherModel: null,
    missingVariables: ["OPENAI_API_KEY", "OPENAI_MODEL"],
    modelVariables: [{ OPENAI_MODEL: "m" }],
    reportsConversation: false,
  },
];

// The agent that sessions get on this machine by default.
export const preferredAgent: TestAgent = AGENTS.find((agent) => agent.missing === undefined) ?? AGENTS[0]!;
export const otherAgents: readonly TestAgent[] = AGENTS.filter((agent) => agent !== preferredAgent);

// The preferred agent runs every test. The others take seconds to start, so they run only the tests in which agents differ,
// unless BERTH_TEST_AGENTS=all.
export const runsEveryTest = (agent: TestAgent): boolean => agent === preferredAgent || process.env["BERTH_TEST_AGENTS"] === "all";

// Settings of a server whose default template has this agent.
export async function serverSettings(agent: TestAgent, resources: AsyncDisposableStack): Promise<Record<string, string>> {
  const folder = resources.use(await mkdtempDisposable(join(tmpdir(), "berth-templates-")));
  // A sandbox's weight follows from `cpus`. With the default, an agent that needs seconds of processor time to start gets
  // almost none of it while other tests run.
  const choice = agent === preferredAgent ? "" : `agent: ${agent.name}, `;
  await writeFile(join(folder.path, "templates.yaml"), `default: { ${choice}cpus: 8 }\n`);
  return { BERTH_TEMPLATES: join(folder.path, "templates.yaml") };
}

export const modelSettings = ({ url }: ModelServer) => ({
  BERTH_MODEL_PROVIDER: "openai",
  BERTH_MODEL_BASE_URL: `${url}/v1`,
  BERTH_MODEL_API_KEY: MODEL_KEY,
  BERTH_MODEL_NAME: "scripted",
});

export const MODEL_KEY = "sk-of-the-operator-0123456789abcdef";
