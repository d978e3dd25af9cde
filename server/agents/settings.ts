import type { AgentSpec } from "@berth/contract";
import { type KnownAgent, knownAgent } from "./catalogue.ts";

// Adds the model settings to a known agent, in the agent's own format. `env` contains the session's variables, from the template, the
// model relay and the partner. For every agent, they may name the model like goose (GOOSE_PROVIDER, GOOSE_MODEL) or like the
// libraries of the providers (OPENAI_MODEL with OPENAI_API_KEY, ANTHROPIC_MODEL with ANTHROPIC_API_KEY).
export function withModelSettings(agent: AgentSpec, env: Record<string, string>): AgentSpec {
  const name = knownAgent(agent.command);
  return name === undefined ? agent : SETTINGS[name](agent, { ...agent.env, ...env });
}

const SETTINGS: Record<KnownAgent, (agent: AgentSpec, env: Record<string, string>) => AgentSpec> = { goose, opencode };

function goose(agent: AgentSpec, env: Record<string, string>): AgentSpec {
  const { provider, name, missing } = modelOf(env);
  // goose supports more providers than we do.
  const hasOtherProvider = env.GOOSE_PROVIDER && env.GOOSE_PROVIDER !== provider;
  if (hasOtherProvider || name === undefined || missing.length > 0) return agent;
  return { ...agent, env: { GOOSE_PROVIDER: provider, GOOSE_MODEL: name, ...agent.env } };
}

function opencode(agent: AgentSpec, env: Record<string, string>): AgentSpec {
  const replaceRequired = (names: string[]): AgentSpec => ({
    ...agent,
    requiredEnv: agent.requiredEnv.flatMap((required) => (required === CONFIG ? names : required)),
  });
  if (env[CONFIG]) return agent;
  // A configuration file of the template or the partner replaces our settings.
  if (env.OPENCODE_CONFIG) return replaceRequired([]);
  const { provider, name, missing } = modelOf(env);
  if (name === undefined || missing.length > 0) return replaceRequired(missing);
  return {
    ...agent,
    env: { ...agent.env, [CONFIG]: JSON.stringify(opencodeConfig(provider, name, env)) },
    askingModes: agent.askingModes ?? [ASK],
    // It asks about everything in that mode, so that rules can deny everything.
    permissions: [...(agent.permissions ?? []), { tool: "read", allow: true }, { tool: "search", allow: true }],
  };
}

const CONFIG = "OPENCODE_CONFIG_CONTENT";
const ASK = "ask";

interface SessionModel {
  provider: "openai" | "anthropic";
  name: string | undefined;
  // Required variables that are not set.
  missing: string[];
}

function modelOf(env: Record<string, string>): SessionModel {
  const provider =
    env.GOOSE_PROVIDER === "anthropic" || (!env.GOOSE_PROVIDER && !env.OPENAI_API_KEY && env.ANTHROPIC_API_KEY) ? "anthropic" : "openai";
  const prefix = provider.toUpperCase();
  const name = env[`${prefix}_MODEL`] || env.GOOSE_MODEL || undefined;
  const missing = [...(env[`${prefix}_API_KEY`] ? [] : [`${prefix}_API_KEY`]), ...(name === undefined ? [`${prefix}_MODEL`] : [])];
  return { provider, name, missing };
}

// OpenAI's own models. They use the Responses API, and opencode knows their limits. The older Chat Completions API, which all other
// servers implement, refuses `max_tokens` for the newer ones.
const OPENAI_MODEL = /^(gpt-(?!oss)|chatgpt-|codex-|o\d)/;

// The output limit for unknown models. Without it opencode requests 32,000 tokens, which many servers refuse.
const OUTPUT_TOKENS = 8192;

// Refers to the variables of address and key instead of copying them, because the daemon may change the port of the address.
function opencodeConfig(provider: SessionModel["provider"], name: string, env: Record<string, string>): object {
  const isOpenAiModel = OPENAI_MODEL.test(name);
  const id = provider === "openai" && !isOpenAiModel ? "openai-compatible" : provider;
  const model = `${id}/${name}`;
  return {
    model,
    small_model: model,
    enabled_providers: [id],
    provider: {
      [id]: {
        ...(id === "openai-compatible" ? { npm: "@ai-sdk/openai-compatible" } : {}),
        options: { ...baseUrl(provider, env), apiKey: `{env:${provider.toUpperCase()}_API_KEY}` },
        models: { [name]: id === "openai-compatible" ? { limit: { context: 0, output: OUTPUT_TOKENS } } : {} },
        whitelist: [name],
      },
    },
    // Conversations stay in the sandbox, the version is the one that we test, and titles and snapshots are not used.
    share: "disabled",
    autoupdate: false,
    snapshot: false,
    agent: { title: { disable: true }, [ASK]: ASKING_AGENT },
    // After a refused permission the model tries something else. Otherwise the turn would end as if all were done.
    experimental: { continue_loop_on_deny: true },
  };
}

const ASKED_TOOLS = "read edit glob grep list bash external_directory webfetch websearch codesearch lsp skill".split(" ");

// opencode calls its modes agents, and none of them asks by default. Its subagents would act without asking.
const ASKING_AGENT = {
  mode: "primary",
  description: "Works like build, but asks before it acts.",
  // A file in the repository could allow what is not named here: opencode merges the two, and ours counts where both say something.
  permission: {
    "*": "ask",
    ...Object.fromEntries(ASKED_TOOLS.map((tool) => [tool, "ask"])),
    todowrite: "allow",
    todoread: "allow",
    task: "deny",
  },
};

function baseUrl(provider: SessionModel["provider"], env: Record<string, string>): { baseURL: string } {
  if (provider === "openai") return { baseURL: env.OPENAI_BASE_URL ? "{env:OPENAI_BASE_URL}" : "https://api.openai.com/v1" };
  if (!env.ANTHROPIC_BASE_URL) return { baseURL: "https://api.anthropic.com/v1" };
  return { baseURL: env.ANTHROPIC_BASE_URL.endsWith("/v1") ? "{env:ANTHROPIC_BASE_URL}" : "{env:ANTHROPIC_BASE_URL}/v1" };
}
