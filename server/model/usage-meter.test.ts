import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelProvider } from "./model-config.ts";
import { createUsageMeter } from "./usage-meter.ts";

const STREAM = "text/event-stream; charset=utf-8";

function meter(provider: ModelProvider, contentType: string, text: string, cut = 7) {
  const seen = createUsageMeter(provider, contentType);
  const bytes = Buffer.from(text);
  for (let i = 0; i < bytes.length; i += cut) seen.see(bytes.subarray(i, i + cut));
  return seen;
}

const events = (...data: object[]) => data.map((item) => `data: ${JSON.stringify(item)}\n\n`).join("");

describe("the tokens of an answer are found", () => {
  test("in a streamed chat, however the bytes are cut", () => {
    const text = events(
      { choices: [{ delta: { content: "ü" } }], usage: null },
      { choices: [], usage: { prompt_tokens: 12, completion_tokens: 3 } },
    );
    for (const cut of [1, 2, 5, 1000]) expect(meter("openai", STREAM, text, cut).usage()).toEqual({ input: 12, output: 3 });
    expect(meter("openai", STREAM, text).pieces).toBe(2);
  });

  test("in OpenAI's responses interface", () => {
    const text = events({ type: "response.completed", response: { usage: { input_tokens: 5, output_tokens: 6 } } });
    expect(meter("openai", STREAM, text).usage()).toEqual({ input: 5, output: 6 });
  });

  test("in Anthropic's events: the input from the first, with what was cached, the output from the last", () => {
    const text = events(
      { type: "message_start", message: { usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 1 } } },
      { type: "content_block_delta", delta: { text: '"usage" is a word' } },
      { type: "message_delta", usage: { output_tokens: 40 } },
    );
    expect(meter("anthropic", STREAM, text).usage()).toEqual({ input: 100, output: 40 });
  });

  test("in an answer that is not streamed", () => {
    const text = JSON.stringify({ content: "…", usage: { prompt_tokens: 7, completion_tokens: 8 } });
    expect(meter("openai", "application/json", text).usage()).toEqual({ input: 7, output: 8 });
  });

  test("and nothing is made up from what is none", () => {
    fc.assert(
      fc.property(
        fc.constantFrom<ModelProvider>("openai", "anthropic"),
        fc.constantFrom(STREAM, "application/json"),
        fc.string(),
        (provider, type, text) => {
          expect(meter(provider, type, `data: "usage"${text}\n`).usage()).toBeNull();
        },
      ),
    );
    expect(meter("openai", STREAM, events({ usage: { prompt_tokens: -5, completion_tokens: "9" } })).usage()).toEqual({
      input: 0,
      output: 0,
    });
  });
});
