import fc from "fast-check";
import { anyAnswer, type AnswerPlan } from "../traffic/answers.ts";
import type { BerthWorld, Role } from "../berth-world.ts";
import { exchange } from "../traffic/exchange.ts";
import { runRelayCase } from "../traffic/relay-case.ts";
import { anyMethod, flaws, headerLists, isWellFormed, renderRequest, type RequestPlan } from "../traffic/requests.ts";
import { defineTarget } from "../target.ts";
import { anyText, fieldText, jsonValue, mostly, seldom, utf8 } from "../traffic/values.ts";

const PATIENCE_MS = 25;
const isDownOf = (world: BerthWorld) => () => world.isDown;

type Provider = "openai" | "anthropic";
const roleOf = (provider: Provider): Role => (provider === "openai" ? "model" : "anthropic");

interface ClientPlan extends RequestPlan {
  provider: Provider;
}

// A hostile agent in a sandbox that calls a model.
export const modelClient = (world: BerthWorld) =>
  defineTarget<ClientPlan>({
    name: "model, client side",
    plan: fc.oneof(requestTo("openai"), requestTo("anthropic")),
    workers: 8,
    deadlineMs: 30_000,
    async run(plan, { signal }) {
      const pieces = renderRequest(plan, (text) => text.replaceAll("$TOKEN", world.modelToken(roleOf(plan.provider))));
      const to = { path: world.egressSocket(roleOf(plan.provider)) };
      const exchanged = await exchange({
        to,
        pieces,
        isHead: plan.method === "HEAD",
        isOwed: isWellFormed(plan),
        patienceMs: PATIENCE_MS,
        signal,
        isDown: isDownOf(world),
      });
      if (exchanged.is === "answered" && exchanged.answer.status === 500)
        return { kind: "5xx", sentence: `500 ${exchanged.answer.body.slice(0, 100)}` };
      return undefined;
    },
  });

const chat = fc.record(
  {
    model: mostly(fc.constant<unknown>("m"), jsonValue),
    stream: fc.oneof<fc.Arbitrary<unknown>[]>(fc.boolean(), jsonValue),
    stream_options: jsonValue,
    messages: mostly(fc.constant<unknown>([{ role: "user", content: "hello" }]), jsonValue),
    max_tokens: jsonValue,
    tools: jsonValue,
    background: jsonValue,
    input: jsonValue,
  },
  { requiredKeys: ["model", "messages"] },
);
const PATHS: Record<Provider, string[]> = {
  openai: ["chat/completions", "completions", "responses", "embeddings", "models", "models/x", "files", "../v1/models"],
  anthropic: ["messages", "messages", "messages", "messages/count_tokens", "models", "models/x", "files"],
};
const pathOf = (provider: Provider) => fc.constantFrom(...PATHS[provider]).map((path) => `/model/${provider}/v1/${path}`);
const deep = fc.constantFrom(100, 10_000, 100_000).map((depth) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);

const anyProvider = fc.constantFrom<Provider[]>("openai", "anthropic");

const requestTo = (provider: Provider): fc.Arbitrary<ClientPlan> =>
  fc.record({
    provider: fc.constant(provider),
    method: mostly(fc.constantFrom("POST", "POST", "GET"), anyMethod, 10),
    target: fc.oneof(
      { weight: 8, arbitrary: pathOf(provider) },
      { weight: 1, arbitrary: fieldText.map((text) => `/model/${text.replaceAll(" ", "%20")}`) },
    ),
    headers: headerLists(
      mostly(fc.constant("Bearer $TOKEN"), fieldText, 10).map((token): [string, string][] => [
        ["host", "localhost"],
        ["authorization", token],
        ["content-type", "application/json"],
      ]),
    ),
    body: fc.oneof(
      { weight: 10, arbitrary: chat.map((value) => utf8(JSON.stringify(value))) },
      { weight: 2, arbitrary: anyText },
      { weight: 1, arbitrary: deep },
      { weight: 1, arbitrary: fc.constant(null) },
    ),
    ...flaws,
  });

// A hostile provider of models.
export const modelUpstream = (world: BerthWorld) =>
  defineTarget<{ provider: Provider; stream: boolean; answer: AnswerPlan }>({
    name: "model, provider side",
    plan: fc.record({ provider: anyProvider, stream: fc.boolean(), answer: anyAnswer(modelBody) }),
    workers: 8,
    deadlineMs: 30_000,
    async run({ provider, stream, answer }, context) {
      const role = roleOf(provider);
      const body = JSON.stringify({ model: "m", max_tokens: 9, stream, messages: [{ role: "user", content: "hello" }] });
      const request = [
        `POST /model/${provider}/v1/${provider === "openai" ? "chat/completions" : "messages"} HTTP/1.1`,
        "host: localhost",
        `authorization: Bearer ${world.modelToken(role)}`,
        "content-type: application/json",
        `accept: text/x-case-${context.caseId}`,
        `content-length: ${body.length}`,
        "",
        body,
      ].join("\r\n");
      const to = { path: world.egressSocket(role) };
      const { finding } = await runRelayCase({ to, request, behind: world.model, answer, isDown: isDownOf(world) }, context);
      return finding;
    },
  });

const EVENT_TYPES = ["message_start", "content_block_delta", "message_delta", "message_stop", "ping", "error"];
const usage = fc.record(
  { prompt_tokens: jsonValue, completion_tokens: jsonValue, input_tokens: jsonValue, output_tokens: jsonValue },
  { requiredKeys: [] },
);
const anyUsage = mostly(usage as fc.Arbitrary<unknown>, jsonValue);
const modelEvent = fc.record(
  {
    choices: jsonValue,
    usage: anyUsage,
    message: fc.record({ usage: anyUsage }),
    type: mostly(fc.constantFrom<unknown[]>(...EVENT_TYPES), jsonValue),
  },
  { requiredKeys: [] },
);
const modelBody = fc.oneof(
  { weight: 2, arbitrary: anyText },
  { weight: 3, arbitrary: modelEvent.map((event) => utf8(JSON.stringify(event))) },
  {
    weight: 3,
    arbitrary: seldom(modelEvent, 0).map(
      (events) => events.map((event) => `data: ${utf8(JSON.stringify(event))}\n\n`).join("") + "data: [DONE]\n\n",
    ),
  },
);
