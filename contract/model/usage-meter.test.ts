import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { longestTurnMs } from "../../server/relays/model/testing/measure-turns.ts";
import { createUsageMeter, type ModelProvider, type UsageMeter } from "./usage-meter.ts";

const STREAM = "text/event-stream; charset=utf-8";

function meter(provider: ModelProvider, contentType: string, text: string, { cut = 7, isEncoded = false } = {}): UsageMeter {
  const seen = createUsageMeter({ provider, contentType, isEncoded });
  const bytes = Buffer.from(text);
  for (let i = 0; i < bytes.length; i += cut) seen.see(bytes.subarray(i, i + cut));
  return seen;
}

const events = (...data: object[]) => data.map((item) => `data: ${JSON.stringify(item)}\n\n`).join("");
const START = { type: "message_start", message: { usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 1 } } };

describe("the usage meter finds the reported tokens", () => {
  test("in a streamed chat, however the bytes are split", () => {
    const text = events(
      { choices: [{ delta: { content: "ü" } }], usage: null },
      { choices: [], usage: { prompt_tokens: 12, completion_tokens: 3 } },
    );
    for (const cut of [1, 2, 5, 1000]) {
      const read = meter("openai", STREAM, `${text}data: [DONE]\n\n`, { cut });
      expect([read.reported(), read.isFinal()]).toEqual([{ input: 12, output: 3 }, true]);
    }
  });

  test("in OpenAI's responses API, also in a long last line", () => {
    const output = [{ content: [{ text: 'a "usage" {'.repeat(50_000) }] }];
    const text = events({ type: "response.completed", response: { output, usage: { input_tokens: 5, output_tokens: 6 } } });
    const read = meter("openai", STREAM, text, { cut: 60_000 });
    expect([read.reported(), read.isFinal()]).toEqual([{ input: 5, output: 6 }, true]);
  });

  test("in Anthropic's events: input and cached tokens in the first, output in the last", () => {
    const said = { type: "content_block_delta", delta: { type: "text_delta", text: '"usage" is a word' } };
    const begun = meter("anthropic", STREAM, events(START, said));
    expect([begun.reported(), begun.isFinal()]).toEqual([{ input: 100, output: 1 }, false]);
    const whole = meter("anthropic", STREAM, events(START, said, { type: "message_delta", usage: { output_tokens: 40 } }));
    expect([whole.reported(), whole.isFinal()]).toEqual([{ input: 100, output: 40 }, true]);
  });

  test("in an answer that is not streamed", () => {
    const text = JSON.stringify({ content: "…", usage: { prompt_tokens: 7, completion_tokens: 8 } });
    expect(meter("openai", "application/json", text).reported()).toEqual({ input: 7, output: 8 });
    const cutOff = meter("openai", "application/json", text.slice(0, -1));
    expect([cutOff.reported(), cutOff.isFinal(), cutOff.seen()]).toEqual([{}, false, Math.ceil((Buffer.byteLength(text) - 1) / 4)]);
  });

  test("only in valid usage objects", () => {
    fc.assert(
      fc.property(
        fc.constantFrom<ModelProvider>("openai", "anthropic"),
        fc.constantFrom(STREAM, "application/json"),
        fc.string(),
        (provider, type, text) => {
          expect(meter(provider, type, `data: "usage"${text}\n`).reported()).toEqual({});
        },
      ),
    );
    for (const usage of [
      { prompt_tokens: -5, completion_tokens: "9" },
      { prompt_tokens: 1e99, completion_tokens: {} },
    ]) {
      const read = meter("openai", STREAM, events({ usage }));
      expect(Object.values(read.reported()).every((value) => value < 1e16)).toBe(true);
    }
    expect(meter("openai", STREAM, 'data: {"usage":{"prompt_tokens":1e400}}\n').reported()).toEqual({ input: 0, output: 0 });
  });
});

describe("the usage meter estimates tokens by length", () => {
  test.each<[string, ModelProvider, object[]]>([
    ["chat", "openai", [{ choices: [{ delta: { role: "assistant", content: "x".repeat(400) } }] }]],
    ["thoughts", "openai", [{ choices: [{ delta: { reasoning_content: "x".repeat(400) } }] }]],
    [
      "arguments",
      "openai",
      [{ choices: [{ delta: { tool_calls: [{ id: "1", type: "function", function: { arguments: "x".repeat(400) } }] } }] }],
    ],
    ["completions", "openai", [{ choices: [{ text: "x".repeat(400) }] }]],
    ["responses", "openai", [{ type: "response.output_text.delta", delta: "x".repeat(400) }]],
    ["messages", "anthropic", [START, { type: "content_block_delta", delta: { type: "text_delta", text: "x".repeat(400) } }]],
    ["tool use", "anthropic", [START, { delta: { type: "input_json_delta", partial_json: "x".repeat(400) } }]],
  ])("%s", (_name, provider, data) => {
    expect(meter(provider, STREAM, events(...data)).seen()).toBe(100);
  });

  test("with at least one token for each event that has text", () => {
    expect(meter("openai", STREAM, events(...Array.from({ length: 9 }, () => ({ choices: [{ delta: { content: "a" } }] })))).seen()).toBe(
      9,
    );
  });

  test("also for a compressed answer", () => {
    expect(meter("openai", STREAM, "x".repeat(400), { isEncoded: true }).seen()).toBe(100);
    expect(meter("openai", STREAM, `data: not JSON ${"x".repeat(400)}\n`).seen()).toBeGreaterThan(90);
    expect(meter("openai", "text/html", "x".repeat(400)).seen()).toBe(100);
  });
});

// Each turn of the event loop handles one chunk.
test.each([
  ["an endless line", "application/json", "data: " + "x".repeat(65_000)],
  ["an endless line of a stream", STREAM, "x".repeat(65_000)],
  ["an endless string", STREAM, 'data: {"usage":"'],
  ["many short lines", STREAM, "data: {}\n".repeat(7000)],
  ["many usages", STREAM, 'data: {"usage":{"prompt_tokens":1}}\n'.repeat(1800)],
])("is done with every chunk in the same time, however many there are: %s", async (_name, type, piece) => {
  const work = async () => {
    const read = createUsageMeter({ provider: "openai", contentType: type, isEncoded: false });
    for (let i = 0; i < 30; i++) {
      read.see(Buffer.from(piece.padEnd(65_000, "x")));
      await new Promise((resolve) => setImmediate(resolve));
    }
    read.reported();
  };
  expect(await longestTurnMs(work, { limitMs: 50 })).toBeLessThan(50);
});
