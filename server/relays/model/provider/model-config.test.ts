import { describe, expect, test } from "vitest";
import { DEFAULT_TEMPLATE } from "../../../templates.ts";
import { modelEnv, modelOf } from "./model-config.ts";

const NONE = { modelProvider: null, modelBaseUrl: null, modelApiKey: null, modelName: null, modelTokenCap: null };
const SERVER = { ...NONE, modelProvider: "anthropic" as const, modelApiKey: "sk-server", modelTokenCap: 500 };
const own = {
  ...DEFAULT_TEMPLATE,
  model: { provider: "openai" as const, baseUrl: "https://models.acme.example/v1/", apiKeyVariable: "ACME_KEY", name: "coder" },
};

describe("the model of a session", () => {
  test("is the server's, with the provider's own URL by default", () => {
    expect(modelOf(SERVER, DEFAULT_TEMPLATE, {})).toEqual({
      provider: "anthropic",
      baseUrl: "https://api.anthropic.com",
      apiKey: "sk-server",
      name: null,
      tokenCap: 500,
    });
  });

  test("is the template's own, with the key from the server's environment and the server's token cap", () => {
    expect(modelOf(SERVER, own, { ACME_KEY: "sk-acme" })).toEqual({
      provider: "openai",
      baseUrl: "https://models.acme.example/v1",
      apiKey: "sk-acme",
      name: "coder",
      tokenCap: 500,
    });
    expect(modelOf(SERVER, { ...own, model: { ...own.model, tokenCap: 9 } }, { ACME_KEY: "k" })).toMatchObject({ tokenCap: 9 });
  });

  test("is the server's with the template's settings", () => {
    const limited = { ...DEFAULT_TEMPLATE, model: { name: "small", tokenCap: 9, serverTools: true } };
    expect(modelOf(SERVER, limited, {})).toMatchObject({ provider: "anthropic", apiKey: "sk-server", name: "small", tokenCap: 9 });
    expect(modelOf(NONE, limited, {})).toBeNull();
  });

  test("is null without a provider or a key, and a template's missing key never falls back to the server's", () => {
    expect(modelOf(NONE, DEFAULT_TEMPLATE, {})).toBeNull();
    expect(modelOf({ ...SERVER, modelApiKey: null }, DEFAULT_TEMPLATE, {})).toBeNull();
    expect(modelOf(SERVER, own, {})).toBeNull();
  });

  test("is described to the sandbox in the variables that agents and client libraries read", () => {
    expect(modelEnv({ provider: "openai", name: null }, "t")).toEqual({
      GOOSE_PROVIDER: "openai",
      OPENAI_BASE_URL: "http://127.0.0.1:3128/model/openai/v1",
      OPENAI_API_KEY: "t",
    });
    expect(modelEnv({ provider: "anthropic", name: "m" }, "t")).toMatchObject({
      GOOSE_MODEL: "m",
      ANTHROPIC_MODEL: "m",
      ANTHROPIC_API_KEY: "t",
    });
  });
});
