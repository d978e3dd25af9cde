import type { Template } from "@berth/contract";
import type { Config } from "../../../config/config.ts";

// Which model a session's agent reaches through the server, and with what key.
export interface ModelConfig {
  provider: ModelProvider;
  // Without a slash at its end. For openai it includes the version (…/v1), for anthropic it does not.
  baseUrl: string;
  apiKey: string;
  // null: the agent chooses.
  name: string | null;
  // Tokens that one session may use; null: as many as it likes.
  tokenCap: number | null;
}

export type ModelProvider = "openai" | "anthropic";

const DEFAULT_BASE_URL: Record<ModelProvider, string> = { openai: "https://api.openai.com/v1", anthropic: "https://api.anthropic.com" };

type ServerModel = Pick<Config, "modelProvider" | "modelBaseUrl" | "modelApiKey" | "modelName" | "modelTokenCap">;

// The template's own model, or the server's with the template's limits, or none. A template names the variable of the server that holds its key, so
// that the key is not in the file.
export function modelOf(config: ServerModel, template: Template, env: NodeJS.ProcessEnv): ModelConfig | null {
  const { provider, baseUrl, apiKeyVariable, name, tokenCap = config.modelTokenCap } = template.model ?? {};
  if (provider && apiKeyVariable) {
    const apiKey = env[apiKeyVariable];
    return apiKey ? complete(provider, baseUrl, apiKey, name, tokenCap) : null;
  }
  const { modelProvider, modelBaseUrl, modelApiKey, modelName } = config;
  if (!modelProvider || !modelApiKey) return null;
  return complete(modelProvider, modelBaseUrl, modelApiKey, name ?? modelName, tokenCap);
}

// The provider's own service, and not another one with the same interface.
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

// Where the daemon listens inside every sandbox and passes bytes on to the server.
const INSIDE = "http://127.0.0.1:3128/model";

// What the sandbox's programs see: a loopback address and a token that is good for this session alone. `GOOSE_*` is for the
// default agent; the rest is what the providers' own libraries read.
export function modelEnv({ provider, name }: Pick<ModelConfig, "provider" | "name">, token: string): Record<string, string> {
  const common = { GOOSE_PROVIDER: provider, ...(name === null ? {} : { GOOSE_MODEL: name }) };
  if (provider === "openai") {
    return { ...common, OPENAI_BASE_URL: `${INSIDE}/openai/v1`, OPENAI_API_KEY: token, ...(name === null ? {} : { OPENAI_MODEL: name }) };
  }
  return {
    ...common,
    ANTHROPIC_BASE_URL: `${INSIDE}/anthropic`,
    ANTHROPIC_HOST: `${INSIDE}/anthropic`,
    ANTHROPIC_API_KEY: token,
    ...(name === null ? {} : { ANTHROPIC_MODEL: name }),
  };
}
