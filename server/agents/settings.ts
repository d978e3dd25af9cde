import type { AgentSpec } from "@berth/contract";
import { type KnownAgent, knownAgent } from "./catalogue.ts";

// Adds the model settings of a known agent, in its own format. `env` holds the session's variables: the template's, the model
// relay's and the partner's. They may name the model as goose does (GOOSE_PROVIDER, GOOSE_MODEL) or as the providers'
// libraries do (OPENAI_MODEL with OPENAI_API_KEY, ANTHROPIC_MODEL with ANTHROPIC_API_KEY), whichever agent there is.
export function withModelSettings(agent: AgentSpec, env: Record<string, string>): AgentSpec {
  const name = knownAgent(agent.command);
  return name === undefined ? agent : SETTINGS[name](agent, { ...agent.env, ...env });
}

const SETTINGS: Record<KnownAgent, (agent: AgentSpec, env: Record<string, string>) => AgentSpec> = { goose, opencode };

function goose(agent: AgentSpec, env: Record<string, string>): AgentSpec {
  const { provider, name, lacking } = modelOf(env);
  // It knows more providers than we do.
  const hasOther = env.GOOSE_PROVIDER && env.GOOSE_PROVIDER !== provider;
  if (hasOther || name === undefined || lacking.length > 0) return agent;
  return { ...agent, env: { GOOSE_PROVIDER: provider, GOOSE_MODEL: name, ...agent.env } };
}

function opencode(agent: AgentSpec, env: Record<string, string>): AgentSpec {
  const replaceRequired = (names: string[]): AgentSpec => ({
    ...agent,
    requiredEnv: agent.requiredEnv.flatMap((required) => (required === CONFIG ? names : required)),
  });
  if (env[CONFIG]) return agent;
  // A file of the template or the partner says everything.
  if (env.OPENCODE_CONFIG) return replaceRequired([]);
  const { provider, name, lacking } = modelOf(env);
  if (name === undefined || lacking.length > 0) return replaceRequired(lacking);
  return { ...agent, env: { ...agent.env, [CONFIG]: JSON.stringify(opencodeConfig(provider, name, env)) } };
}

const CONFIG = "OPENCODE_CONFIG_CONTENT";

interface SessionModel {
  provider: "openai" | "anthropic";
  name: string | undefined;
  // Variables that are not set but needed.
  lacking: string[];
}

function modelOf(env: Record<string, string>): SessionModel {
  const provider =
    env.GOOSE_PROVIDER === "anthropic" || (!env.GOOSE_PROVIDER && !env.OPENAI_API_KEY && env.ANTHROPIC_API_KEY) ? "anthropic" : "openai";
  const prefix = provider.toUpperCase();
  const name = env[`${prefix}_MODEL`] || env.GOOSE_MODEL || undefined;
  const lacking = [...(env[`${prefix}_API_KEY`] ? [] : [`${prefix}_API_KEY`]), ...(name === undefined ? [`${prefix}_MODEL`] : [])];
  return { provider, name, lacking };
}

// OpenAI's own models. They are asked over the Responses API, and opencode knows their limits; the older interface, which
// every other server speaks, refuses `max_tokens` for the newer of them.
const OPENAI_MODEL = /^(gpt-(?!oss)|chatgpt-|codex-|o\d)/;

// What a model can write at least that we know nothing of. Without it opencode asks for 32,000 tokens, which many refuse.
const OUTPUT_TOKENS = 8192;

// The address and the key are named, not copied: the daemon may move the address to another port.
function opencodeConfig(provider: SessionModel["provider"], name: string, env: Record<string, string>): object {
  const isOpenAiModel = OPENAI_MODEL.test(name);
  const id = provider === "openai" && !isOpenAiModel ? "openai-compatible" : provider;
  const chosen = `${id}/${name}`;
  return {
    model: chosen,
    small_model: chosen,
    enabled_providers: [id],
    provider: {
      [id]: {
        ...(id === "openai-compatible" ? { npm: "@ai-sdk/openai-compatible" } : {}),
        options: { ...baseUrl(provider, env), apiKey: `{env:${provider.toUpperCase()}_API_KEY}` },
        models: { [name]: id === "openai-compatible" ? { limit: { context: 0, output: OUTPUT_TOKENS } } : {} },
        whitelist: [name],
      },
    },
    // Conversations stay in the sandbox, the version is the one that we test, and its titles and snapshots are never shown.
    share: "disabled",
    autoupdate: false,
    snapshot: false,
    agent: { title: { disable: true } },
  };
}

function baseUrl(provider: SessionModel["provider"], env: Record<string, string>): { baseURL: string } {
  if (provider === "openai") return { baseURL: env.OPENAI_BASE_URL ? "{env:OPENAI_BASE_URL}" : "https://api.openai.com/v1" };
  if (!env.ANTHROPIC_BASE_URL) return { baseURL: "https://api.anthropic.com/v1" };
  return { baseURL: env.ANTHROPIC_BASE_URL.endsWith("/v1") ? "{env:ANTHROPIC_BASE_URL}" : "{env:ANTHROPIC_BASE_URL}/v1" };
}
