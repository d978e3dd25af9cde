import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Template } from "@berth/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFAULT_TEMPLATE } from "../../../templates.ts";
import type { ModelProvider } from "@berth/contract/model/usage-meter.ts";
import { modelOf } from "../provider/model-config.ts";
import { requestPolicyOf } from "./request-rules.ts";
import { startTestRelay, type TestRelay, type TestSandbox } from "../testing/start-relay.ts";

const API = {
  chat: "chat/completions",
  responses: "responses",
  messages: "messages",
  embeddings: "embeddings",
  completions: "completions",
};
type Case = [api: keyof typeof API, body: object | string];

const say = (...content: object[]): object => ({ messages: [{ role: "user", content }] });
const input = (...items: object[]): object => ({ input: items });
const deep = (value: object, levels: number): object => (levels === 0 ? value : deep({ content: [value] }, levels - 1));

// Requests for tools and state of the provider.
const SERVER_SIDE: Case[] = [
  ...["web_search", "web_search_preview", "web_search_2025_08_26", "file_search", "code_interpreter", "mcp", "computer_use_preview"].map(
    (type): Case => ["responses", { tools: [{ type: "function", name: "f" }, { type }] }],
  ),
  ["responses", { tools: [{ type: "image_generation" }] }],
  ["responses", { tools: [{ type: "shell", environment: { type: "container_auto" } }] }],
  ["responses", { tools: [{ type: "a_tool_of_next_year" }] }],
  ["responses", { tools: [{ type: "namespace", tools: [{ type: "mcp", server_url: "https://evil.example" }] }] }],
  ["responses", { tools: { type: "mcp" } }],
  ["responses", '{"tools":[{"type":"\\u006dcp"}]}'],
  ["responses", '{"tools":[{"type":"function","type":"mcp"}]}'],
  ["responses", '{"tools":[{"type":"function","Type":"mcp"}]}'],
  ["responses", '{"tools":[],"tools":[{"type":"mcp"}]}'],
  ["responses", '{"tools":[],"\\u0074ools":[{"type":"mcp"}]}'],
  ["responses", input({ type: "additional_tools", tools: [{ type: "web_search" }] })],
  ["responses", input({ type: "item_reference", id: "msg_1" })],
  ["responses", '{"input":[{"type":"item\\u005freference","id":"msg_1"}]}'],
  ["responses", { previous_response_id: "resp_1" }],
  ["responses", { conversation: { id: "conv_1" } }],
  ["responses", { conversation: "conv_1" }],
  ["responses", { prompt: { id: "pmpt_1" } }],
  ["responses", { store: true }],
  ["responses", input({ role: "user", content: [{ type: "input_file", file_id: "file-1" }] })],
  ["chat", { store: true }],
  ["chat", { store: 1 }],
  ["chat", { web_search_options: {} }],
  ["chat", { plugins: [{ id: "web" }] }],
  ["chat", { search_parameters: { mode: "on" } }],
  ["chat", { enable_search: true }],
  ["chat", { models: ["another/model"] }],
  ["chat", { tools: [{ type: "web_search" }] }],
  ["chat", { mcp_servers: [{ url: "https://evil.example" }] }],
  ["chat", say({ type: "file", file: { file_id: "file-1" } })],
  ["messages", { mcp_servers: [{ type: "url", url: "https://evil.example", name: "x" }] }],
  ["messages", { container: "container_1" }],
  ["messages", { container: { skills: [] } }],
  ...["web_search_20250305", "web_fetch_20250910", "code_execution_20250825", "mcp_toolset", "bash_20250124x", "function"].map(
    (type): Case => [
      "messages",
      {
        tools: [
          { name: "t", input_schema: {} },
          { type, name: "t" },
        ],
      },
    ],
  ),
  ["messages", say({ type: "container_upload", file_id: "file_1" })],
  ["messages", say({ type: "document", source: { type: "file", file_id: "file_1" } })],
];

const REMOTE: Case[] = [
  ["chat", say({ type: "image_url", image_url: { url: "https://evil.example/?secret" } })],
  ["chat", say({ type: "image_url", image_url: "http://169.254.169.254/" })],
  ["chat", say({ type: "image_url", image_url: { url: " https://evil.example" } })],
  ["chat", say({ type: "image_url", image_url: { url: "HTTPS://evil.example" } })],
  ["chat", '{"messages":[{"content":[{"image_url":{"url":"\\u0068ttps://evil.example"}}]}]}'],
  ["chat", '{"messages":[{"content":[{"image_url":{"url":"data:,","url":"https://evil.example"}}]}]}'],
  ["chat", '{"messages":[{"content":[{"image_url":{"\\u0075rl":"https://evil.example"}}]}]}'],
  ["chat", say({ type: "image_url", image_url: "file:///etc/passwd" })],
  ["chat", say({ type: "video_url", video_url: { url: "https://evil.example" } })],
  ["chat", say({ type: "file", file: { file_data: "https://evil.example/a.pdf" } })],
  ["responses", input({ role: "user", content: [{ type: "input_image", image_url: "https://evil.example" }] })],
  ["responses", input({ role: "user", content: [{ type: "input_file", file_url: "https://evil.example" }] })],
  [
    "responses",
    input({ type: "function_call_output", call_id: "1", output: [{ type: "input_image", image_url: "https://evil.example" }] }),
  ],
  ["messages", say({ type: "image", source: { type: "url", url: "https://evil.example" } })],
  ["messages", say({ type: "tool_result", content: [{ type: "document", source: { type: "url", url: "https://evil.example" } }] })],
  ["messages", say(deep({ type: "image", source: { type: "url", url: "https://evil.example" } }, 30))],
  ["messages", { system: [{ type: "image", source: { type: "url", url: "https://evil.example" } }] }],
];

const UNKNOWN: Case[] = [
  ["chat", { extra_body: { google: {} } }],
  ["responses", { a_field_of_next_year: true }],
  ["messages", { a_field_of_next_year: [] }],
  ["embeddings", { a_field_of_next_year: 1 }],
  ["completions", { a_field_of_next_year: 1 }],
];

// Requests as agents send them. Every template allows these.
const CLIENT_SIDE: Case[] = [
  ["chat", { ...say({ type: "text", text: "look at https://example.com" }), tools: [{ type: "function", function: { name: "f" } }, {}] }],
  ["chat", say({ type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } })],
  ["chat", say({ type: "file", file: { file_data: "/9j/4AAQ", filename: "a.jpg" } })],
  ["chat", { messages: [{ role: "assistant", tool_calls: [{ type: "function", function: { arguments: '{"url":"https://x"}' } }] }] }],
  [
    "chat",
    { tools: [{ type: "function", function: { parameters: { properties: { image_url: { type: "web_search" }, Type: {}, tools: {} } } } }] },
  ],
  ["chat", { stream: true, max_completion_tokens: 5, temperature: 0, reasoning_effort: "low", tool_choice: "auto", store: false, n: 1 }],
  ["chat", { web_search_options: null, mcp_servers: [], background: false, tools: null }],
  ["responses", { instructions: "x", store: false, include: [], prompt_cache_key: "k", reasoning: { effort: "low" }, stream: true }],
  [
    "responses",
    { tools: [{ type: "custom", name: "apply_patch" }, { type: "local_shell" }, { type: "tool_search", execution: "client" }] },
  ],
  ["responses", { tools: [{ type: "namespace", tools: [{ type: "function", name: "f" }] }], previous_response_id: null, prompt: null }],
  ["responses", input({ type: "local_shell_call", action: { type: "exec", command: ["ls"], env: { url: "https://x", é: "1" } } })],
  ["responses", input({ type: "reasoning", encrypted_content: "gAAA" }, { type: "function_call", arguments: "{}" })],
  [
    "messages",
    {
      ...say({ type: "tool_use", input: { url: "https://x", type: "mcp", "\u00fc": 1, Url: 2 } }),
      max_tokens: 1,
      system: "s",
      stream: true,
    },
  ],
  ["messages", say({ type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } })],
  [
    "messages",
    {
      tools: [
        { name: "t", input_schema: { type: "object", properties: { url: { type: "string" } } } },
        { type: "custom", name: "t" },
        { type: "bash_20250124", name: "bash" },
        { type: "text_editor_20250728", name: "e" },
        { type: "memory_20250818", name: "m" },
        { type: "tool_search_tool_regex_20251119", name: "s" },
      ],
      thinking: { type: "enabled", budget_tokens: 1024 },
      context_management: { edits: [] },
      metadata: { user_id: "u" },
      output_config: { effort: "low" },
    },
  ],
  ["embeddings", { input: ["a"], dimensions: 3 }],
  ["completions", { prompt: "a", max_tokens: 3 }],
];

const BACKGROUND: Case[] = [
  ["responses", { background: true }],
  ["responses", { background: 1 }],
  ["responses", { background: "true" }],
  ["responses", '{"\\u0062ackground":true}'],
  ["responses", '{"Background":true}'],
  ["responses", '{"background":false,"background":true}'],
  ["chat", { background: true }],
];

let provider: Server;
let seen: string[] = [];
const sandboxes = new Map<string, Record<ModelProvider, TestSandbox>>();
const relays: TestRelay[] = [];

const TEMPLATES: Record<string, Partial<Template>> = {
  "egress none": { egress: { policy: "none" } },
  "egress to some hosts": { egress: { policy: "hosts", hosts: ["example.com"] } },
  "egress public": {},
  "egress none and server tools": { egress: { policy: "none" }, model: { serverTools: true } },
};

beforeAll(async () => {
  provider = createServer((request, response) => {
    void buffer(request).then((body) => {
      seen.push(body.toString());
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  }).listen(0, "127.0.0.1");
  await once(provider, "listening");
  const upstreamUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  for (const [name, template] of Object.entries(TEMPLATES)) {
    const add = async (modelProvider: ModelProvider) => {
      const relay = await startTestRelay({ upstreamUrl, template, config: { modelProvider, modelRatePerMinute: 0 } });
      relays.push(relay);
      return relay.addSandbox();
    };
    sandboxes.set(name, { openai: await add("openai"), anthropic: await add("anthropic") });
  }
});
afterAll(async () => {
  for (const each of relays) await each[Symbol.asyncDispose]();
  provider.close();
  provider.closeAllConnections();
  await once(provider, "close");
});

async function send(template: string, [api, body]: Case): Promise<string> {
  const kind = api === "messages" ? "anthropic" : "openai";
  const before = seen.length;
  const { status, text } = await sandboxes.get(template)![kind].ask(`/model/${kind}/v1/${API[api]}`, body);
  expect(seen.length - before).toBe(status === 200 ? 1 : 0);
  return status === 200 ? "relayed" : `${status} ${(JSON.parse(text) as { error: { message: string } }).error.message}`;
}

const name = ([api, body]: Case) => `${api} ${typeof body === "string" ? body : JSON.stringify(body)}`.slice(0, 110);
const table = (cases: Case[]) => cases.map((each) => [name(each), each] as const);

describe("a template without server tools refuses, whatever its egress", () => {
  test.each(table(SERVER_SIDE))("%s", async (_name, each) => {
    expect(await send("egress none", each)).toMatch(/^400 /);
    expect(await send("egress public", each)).toMatch(/^400 /);
  });

  test.each(table(BACKGROUND))("%s, which no template allows", async (_name, each) => {
    for (const template of Object.keys(TEMPLATES)) expect(await send(template, each)).toMatch(/^400 /);
  });
});

describe("a template with restricted egress refuses", () => {
  test.each(table(REMOTE))("%s", async (_name, each) => {
    expect(await send("egress none", each)).toMatch(/^400 /);
    expect(await send("egress to some hosts", each)).toMatch(/^400 /);
    // The provider of these tests is not the provider's own service, so it may reach private addresses.
    expect(await send("egress public", each)).toMatch(/^400 /);
  });

  test.each(table(UNKNOWN))("%s", async (_name, each) => {
    expect(await send("egress none", each)).toMatch(/^400 /);
    expect(await send("egress to some hosts", each)).toMatch(/^400 /);
    expect(await send("egress public", each)).toBe("relayed");
  });
});

describe("the relay accepts", () => {
  test.each(table(CLIENT_SIDE))("%s in every template", async (_name, each) => {
    for (const template of Object.keys(TEMPLATES)) expect(await send(template, each)).toBe("relayed");
  });

  const valid = [...SERVER_SIDE, ...REMOTE, ...UNKNOWN].filter(([, body]) => typeof body !== "string");
  test.each(table(valid))("%s if the template allows server tools", async (_name, each) => {
    expect(await send("egress none and server tools", each)).toBe("relayed");
  });

  test("only requests that tell the provider to store nothing, unless the template allows it", async () => {
    const sent = async (template: string, body: object) => {
      await send(template, ["responses", body]);
      return JSON.parse(seen.at(-1)!) as object;
    };
    expect(await sent("egress public", { input: "x" })).toMatchObject({ store: false });
    expect(await sent("egress public", { store: null })).toMatchObject({ store: false });
    expect(await sent("egress none and server tools", { input: "x" })).not.toHaveProperty("store");
    expect(await sent("egress none and server tools", { store: true })).toMatchObject({ store: true });
  });

  test("URLs with public egress and the provider's own service, which cannot reach private addresses", () => {
    const server = { modelProvider: "openai" as const, modelApiKey: "k", modelName: null, modelTokenCap: null };
    const remoteUrls = (template: Partial<Template>, modelBaseUrl: string | null) => {
      const whole = { ...DEFAULT_TEMPLATE, ...template };
      return requestPolicyOf(whole, modelOf({ ...server, modelBaseUrl }, whole, {})!).remoteUrls;
    };
    expect(remoteUrls({}, null)).toBe(true);
    expect(remoteUrls({}, "https://models.internal/v1")).toBe(false);
    expect(remoteUrls({ egress: { policy: "none" } }, null)).toBe(false);
    expect(remoteUrls({ egress: { policy: "hosts", hosts: ["a.example"] } }, null)).toBe(false);
    expect(remoteUrls({ egress: { policy: "none" }, model: { serverTools: true } }, null)).toBe(true);
  });
});

test("a refusal names the field and its value, and says what to do", async () => {
  expect(await send("egress none", ["responses", { tools: [{ type: "web_search" }] }])).toBe(
    '400 tools.type ("web_search") requests a tool that the model\'s provider runs. This template allows only tools that run in the sandbox.',
  );
  expect(await send("egress none", ["chat", say({ image_url: { url: "https://evil.example/a?b" } })])).toMatch(
    /^400 messages\.content\.image_url\.url is a URL/,
  );
});
