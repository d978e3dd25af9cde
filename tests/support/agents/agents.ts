import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentSpec } from "@berth/contract";
import { KNOWN_AGENTS, type KnownAgent } from "../../../server/agents/catalogue.ts";
import { machine, type Missing } from "../machine.ts";
import type { ModelReply, ModelServer } from "./model-server.ts";

// The real agents that tests run with, and where they differ: the tools that a model calls, and what they report.
export interface TestAgent {
  name: KnownAgent;
  spec: AgentSpec;
  missing: Missing;
  // Variables with which it asks before it writes a file.
  askFirst: Record<string, string>;
  write(path: string, content: string): ModelReply;
  // The same with a model of OpenAI's own: some agents give it other tools.
  writeForOpenAi(path: string, content: string): ModelReply;
  edit(path: string, before: string, after: string): ModelReply;
  shell(command: string): ModelReply;
  // What the card of a written file says.
  writeTitle(name: string): string;
  // How to make it ask within a conversation: the mode to choose, and the variables that this needs.
  asking: { mode: string; envVars: Record<string, string> };
  // A mode in which it does not change files by itself.
  carefulMode: string;
  // What it says that it lacks without a model.
  missingVariables: string[];
  // Whether it reports a title of the conversation and the use of the context.
  reportsConversation: boolean;
}

export const AGENTS: readonly TestAgent[] = [
  {
    name: "goose",
    spec: KNOWN_AGENTS.goose,
    missing: machine.agent("goose"),
    askFirst: { GOOSE_MODE: "approve" },
    write: (path, content) => ({ tool: "write", input: { path, content } }),
    writeForOpenAi: (path, content) => ({ tool: "write", input: { path, content } }),
    edit: (path, before, after) => ({ tool: "edit", input: { path, before, after } }),
    shell: (command) => ({ tool: "developer__shell", input: { command } }),
    writeTitle: (name) => `write · ${name}`,
    asking: { mode: "approve", envVars: {} },
    carefulMode: "approve",
    missingVariables: ["GOOSE_PROVIDER", "GOOSE_MODEL"],
    reportsConversation: true,
  },
  {
    name: "opencode",
    spec: KNOWN_AGENTS.opencode,
    missing: machine.agent("opencode"),
    askFirst: { OPENCODE_PERMISSION: JSON.stringify({ edit: "ask" }) },
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
    missingVariables: ["OPENAI_API_KEY", "OPENAI_MODEL"],
    reportsConversation: false,
  },
];

// The one that sessions get on this machine: every journey runs with it. Others run those in which agents could differ.
export const preferredAgent: TestAgent = AGENTS.find((agent) => agent.missing === undefined) ?? AGENTS[0]!;
export const otherAgents: readonly TestAgent[] = AGENTS.filter((agent) => agent !== preferredAgent);

// Settings of a server whose default template has this agent. The preferred one it has by itself.
export async function serverSettings(agent: TestAgent, resources: AsyncDisposableStack): Promise<Record<string, string>> {
  if (agent === preferredAgent) return {};
  const folder = resources.use(await mkdtempDisposable(join(tmpdir(), "berth-templates-")));
  await writeFile(join(folder.path, "templates.yaml"), `default: { agent: ${agent.name} }\n`);
  return { BERTH_TEMPLATES: join(folder.path, "templates.yaml") };
}

export const modelSettings = ({ url }: ModelServer) => ({
  BERTH_MODEL_PROVIDER: "openai",
  BERTH_MODEL_BASE_URL: `${url}/v1`,
  BERTH_MODEL_API_KEY: MODEL_KEY,
  BERTH_MODEL_NAME: "scripted",
});

export const MODEL_KEY = "sk-of-the-operator-0123456789abcdef";
