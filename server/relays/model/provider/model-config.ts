import type { Template } from "@berth/contract";
import type { ModelProvider } from "@berth/contract/model/usage-meter.ts";
import type { Config } from "../../../config/config.ts";

// The model that the agent of a session reaches through the server.
export interface ModelConfig {
  provider: ModelProvider;
  // Has no trailing slash. Includes the version (…/v1) for openai, but not for anthropic.
  baseUrl: string;
  apiKey: string;
  // null: the agent chooses.
  name: string | null;
  // Tokens that one session may use. null: no limit.
  tokenCap: number | null;
}

const DEFAULT_BASE_URL: Record<ModelProvider, string> = { openai: "https://api.openai.com/v1", anthropic: "https://api.anthropic.com" };

type ServerModel = Pick<Config, "modelProvider" | "modelBaseUrl" | "modelApiKey" | "modelName" | "modelTokenCap">;

// Returns the template's own model, or the server's with the template's limits, or null. A template names the environment
// variable of the server that holds its key, so that the key is not in the templates file.
export function modelOf(config: ServerModel, template: Template, env: Record<string, string | undefined>): ModelConfig | null {
  const { provider, baseUrl, apiKeyVariable, name, tokenCap = config.modelTokenCap } = template.model ?? {};
  if (provider && apiKeyVariable) {
    const apiKey = env[apiKeyVariable];
    return apiKey ? complete(provider, baseUrl, apiKey, name, tokenCap) : null;
  }
  const { modelProvider, modelBaseUrl, modelApiKey, modelName } = config;
  if (!modelProvider || !modelApiKey) return null;
  return complete(modelProvider, modelBaseUrl, modelApiKey, name ?? modelName, tokenCap);
}

// Whether the model is at the provider's own service, and not at another one with the same API.
export const isProvidersOwn = ({ provider, baseUrl }: ModelConfig): boolean => baseUrl === DEFAULT_BASE_URL[provider];

function complete(
  provider: ModelProvider,
  baseUrl: string | null | undefined,
  apiKey: string,
  name: string | null | undefined,
  tokenCap: number | null,
): ModelConfig {
  return { provider, baseUrl: (baseUrl ?? DEFAULT_BASE_URL[provider]).replace(/\/+$/, ""), apiKey, name: name ?? null, tokenCap };
}

// The daemon listens at this address in every sandbox and forwards to the egress proxy.
const RELAY_URL = "http://127.0.0.1:3128/model";

// The environment of programs in the sandbox: a loopback URL and a token that is valid for this session only. `GOOSE_*` is for
// the default agent, the rest for the providers' client libraries.
export function modelEnv({ provider, name }: Pick<ModelConfig, "provider" | "name">, token: string): Record<string, string> {
  const common = { GOOSE_PROVIDER: provider, ...(name === null ? {} : { GOOSE_MODEL: name }) };
  if (provider === "openai") {
    return {
      ...common,
      OPENAI_BASE_URL: `${RELAY_URL}/openai/v1`,
      OPENAI_API_KEY: token,
      ...(name === null ? {} : { OPENAI_MODEL: name }),
    };
  }
  return {
    ...common,
    ANTHROPIC_BASE_URL: `${RELAY_URL}/anthropic`,
    ANTHROPIC_HOST: `${RELAY_URL}/anthropic`,
    ANTHROPIC_API_KEY: token,
    ...(name === null ? {} : { ANTHROPIC_MODEL: name }),
  };
}
