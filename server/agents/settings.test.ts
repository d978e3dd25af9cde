import { describe, expect, test } from "vitest";
import { completeAgent, KNOWN_AGENTS } from "./catalogue.ts";
import { withModelSettings } from "./settings.ts";

const RELAY = {
  openai: {
    GOOSE_PROVIDER: "openai",
    GOOSE_MODEL: "coder",
    OPENAI_MODEL: "coder",
    OPENAI_BASE_URL: "http://127.0.0.1:3128/x",
    OPENAI_API_KEY: "t",
  },
  anthropic: {
    GOOSE_PROVIDER: "anthropic",
    GOOSE_MODEL: "claude-x",
    ANTHROPIC_MODEL: "claude-x",
    ANTHROPIC_BASE_URL: "http://127.0.0.1:3128/y",
    ANTHROPIC_API_KEY: "t",
  },
};

interface OpencodeConfig {
  model: string;
  enabled_providers: string[];
  provider: Record<string, { npm?: string; options: Record<string, string>; models: Record<string, object> }>;
  share: string;
}

function opencodeWith(env: Record<string, string>, agent = KNOWN_AGENTS.opencode) {
  const { env: set, requiredEnv } = withModelSettings(agent, env);
  const all = { ...set, ...env } as Record<string, string>;
  const config = all.OPENCODE_CONFIG_CONTENT === undefined ? null : (JSON.parse(all.OPENCODE_CONFIG_CONTENT) as OpencodeConfig);
  return { config, missing: requiredEnv.filter((name) => !all[name]) };
}

describe("the model settings of an agent", () => {
  test("goose gets its variables, unless they are set", () => {
    const own = { OPENAI_API_KEY: "k", OPENAI_MODEL: "coder" };
    expect(withModelSettings(KNOWN_AGENTS.goose, own).env).toMatchObject({ GOOSE_PROVIDER: "openai", GOOSE_MODEL: "coder" });
    const other = { ANTHROPIC_API_KEY: "k", ANTHROPIC_MODEL: "claude-x" };
    expect(withModelSettings(KNOWN_AGENTS.goose, other).env).toMatchObject({ GOOSE_PROVIDER: "anthropic", GOOSE_MODEL: "claude-x" });
    // A provider that only goose supports, and incomplete settings.
    const others: Record<string, string>[] = [{ GOOSE_PROVIDER: "google", ...own }, { OPENAI_API_KEY: "k" }, { OPENAI_MODEL: "m" }, {}];
    for (const env of others) expect(withModelSettings(KNOWN_AGENTS.goose, env)).toEqual(KNOWN_AGENTS.goose);
  });

  test("opencode gets a configuration that allows only the given model", () => {
    const { config, missing } = opencodeWith(RELAY.openai);
    expect(missing).toEqual([]);
    expect(config).toMatchObject({ model: "openai-compatible/coder", enabled_providers: ["openai-compatible"], share: "disabled" });
    expect(config?.provider).toMatchObject({
      "openai-compatible": {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL: "{env:OPENAI_BASE_URL}", apiKey: "{env:OPENAI_API_KEY}" },
        models: { coder: {} },
      },
    });
    expect(JSON.stringify(config)).not.toContain("127.0.0.1");
  });

  test("opencode gets a mode in which it asks about everything and has no subagents, if the configuration is ours", () => {
    const own = { ...KNOWN_AGENTS.opencode, permissions: [{ tool: "fetch", allow: false } as const] };
    const { askingModes, permissions, env } = withModelSettings(own, RELAY.openai);
    expect([askingModes, permissions?.map(({ tool }) => tool)]).toEqual([["ask"], ["fetch", "read", "search"]]);
    expect(JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? "")).toMatchObject({ agent: { ask: { permission: { "*": "ask", task: "deny" } } } });
    expect(withModelSettings(KNOWN_AGENTS.opencode, { ...RELAY.openai, OPENCODE_CONFIG: "/x" }).askingModes).toBeUndefined();
    expect(completeAgent({ command: "/usr/bin/goose", permissions: [] })).toMatchObject({
      askingModes: ["approve", "chat"],
      permissions: [],
    });
  });

  test("opencode gets Anthropic's address with the version", () => {
    expect(opencodeWith(RELAY.anthropic).config).toMatchObject({
      model: "anthropic/claude-x",
      provider: { anthropic: { options: { baseURL: "{env:ANTHROPIC_BASE_URL}/v1", apiKey: "{env:ANTHROPIC_API_KEY}" } } },
    });
    const versioned = { ...RELAY.anthropic, ANTHROPIC_BASE_URL: "https://models.example/v1" };
    expect(opencodeWith(versioned).config?.provider.anthropic?.options.baseURL).toBe("{env:ANTHROPIC_BASE_URL}");
  });

  test.each([
    ["gpt-5", "openai"],
    ["o3-mini", "openai"],
    ["codex-mini-latest", "openai"],
    ["gpt-oss-20b", "openai-compatible"],
    ["qwen/qwen3-coder", "openai-compatible"],
    ["ollama-model", "openai-compatible"],
  ])("opencode uses %s with the provider %s", (name, provider) => {
    expect(opencodeWith({ OPENAI_API_KEY: "k", OPENAI_MODEL: name }).config).toMatchObject({
      model: `${provider}/${name}`,
      provider: { [provider]: { options: { baseURL: "https://api.openai.com/v1" } } },
    });
  });

  test("opencode accepts a partner's variables for goose", () => {
    const own = { GOOSE_PROVIDER: "anthropic", GOOSE_MODEL: "claude-y", ANTHROPIC_API_KEY: "k" };
    expect(opencodeWith({ ...RELAY.openai, ...own }).config?.model).toBe("anthropic/claude-y");
  });

  test.each([
    [{}, ["OPENAI_API_KEY", "OPENAI_MODEL"]],
    [{ OPENAI_API_KEY: "k" }, ["OPENAI_MODEL"]],
    [{ GOOSE_MODEL: "m" }, ["OPENAI_API_KEY"]],
    [{ ANTHROPIC_API_KEY: "k" }, ["ANTHROPIC_MODEL"]],
    [{ GOOSE_PROVIDER: "anthropic", GOOSE_MODEL: "m" }, ["ANTHROPIC_API_KEY"]],
  ] as [Record<string, string>, string[]][])("opencode does not start with %j, and the missing variables are named", (env, missing) => {
    expect(opencodeWith(env)).toEqual({ config: null, missing });
  });

  test("opencode keeps the settings of the template or the partner", () => {
    const content = JSON.stringify({ model: "google/gemini" });
    expect(opencodeWith({ ...RELAY.openai, OPENCODE_CONFIG_CONTENT: content }).config).toEqual({ model: "google/gemini" });
    const withFile = completeAgent({ command: "/opt/bin/opencode", env: { OPENCODE_CONFIG: "/etc/opencode.json" } });
    expect(opencodeWith(RELAY.openai, withFile)).toEqual({ config: null, missing: [] });
  });

  test("an unknown agent is unchanged", () => {
    const other = completeAgent({ command: "codex-acp", env: { A: "1" }, requiredEnv: ["OPENAI_API_KEY"] });
    expect(withModelSettings(other, RELAY.openai)).toBe(other);
  });
});
