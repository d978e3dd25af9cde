import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../clock.ts";
import { createLoopTurns } from "../../../event-loop/loop-turns.ts";
import { currentWork, markWork } from "../../../event-loop/loop-work.ts";
import { createModelLimits } from "../admission/model-limits.ts";
import { ModelRefusal } from "../admission/model-refusal.ts";
import { providerBody } from "./provider-request.ts";
import { readRequestBody } from "./request-body.ts";
import type { ModelApi } from "./request-fields.ts";
import { REQUEST_SHAPES } from "./request-rules.ts";

const limits = createModelLimits({ clock: systemClock, requestsPerMinute: 0, maxBodyBytes: 1024 * 1024 });
const turn = createLoopTurns();
const policy = { serverTools: true, remoteUrls: true, unknownFields: true };

// Returns what the provider receives for a body that is sent in pieces of `cut` bytes.
async function pass(
  sent: string | Buffer,
  { api = "chat" as ModelApi, name = "ours" as string | null, cut = 1 << 20 } = {},
): Promise<string> {
  const bytes = Buffer.from(sent);
  const chunks = Array.from({ length: Math.ceil(bytes.length / cut) }, (_, i) => bytes.subarray(i * cut, (i + 1) * cut));
  const request = Object.assign(Readable.from(chunks), { headers: {} }) as unknown as IncomingMessage;
  using slot = await limits.takeBodySlot("sbx_1", new AbortController().signal);
  const body = await readRequestBody(request, { shape: REQUEST_SHAPES[api], policy, slot, maxBytes: 1024 * 1024, timeoutMs: 10_000, turn });
  return Buffer.concat(providerBody({ name }, policy, api, body)).toString();
}

const refusalOf = (sent: string | Buffer) =>
  pass(sent).then(String, (error: unknown) => (error instanceof ModelRefusal ? error.message : error));

describe("the body of a request to a model", () => {
  test("is relayed byte for byte, except for the model and the request for usage", async () => {
    const rest = String.raw`"seed": 12345678901234567890,"temperature":1.0, "messages":[{"content":"\u00fc ü \ud83d\ude00"}]`;
    expect(await pass(` {"model":"theirs",${rest}}\n`)).toBe(`{"model":"ours",${rest}}`);
    expect(await pass(`{${rest}}`)).toBe(`{${rest},"model":"ours"}`);
    expect(await pass(`{"model": "theirs",${rest}}`, { name: null })).toBe(`{"model": "theirs",${rest}}`);
    expect(await pass(" { } ")).toBe('{ "model":"ours"}');
    expect(await pass('{"stream":true}')).toBe('{"stream":true,"model":"ours","stream_options":{"include_usage":true}}');
    expect(await pass('{"stream":false}')).toBe('{"stream":false,"model":"ours"}');
    expect(await pass('{"stream_options":{"include_usage":false,"a":[1]}, "stream":true}', { name: null })).toBe(
      '{"stream_options":{"include_usage":true,"a":[1]}, "stream":true}',
    );
    expect(await pass('{"stream":true}', { api: "responses", name: null })).toBe('{"stream":true}');
  });

  test("keeps its meaning, whatever it contains and however it is split", async () => {
    const field = fc.oneof(fc.constantFrom("model", "stream", "stream_options", "metadata"), fc.stringMatching(/^x_[a-z]{1,6}$/));
    const document = fc.dictionary(field, fc.jsonValue({ maxDepth: 3 })).map((fields) => ({
      ...fields,
      ...("model" in fields ? { model: "theirs" } : {}),
      ...("stream" in fields ? { stream: true } : {}),
      ...("stream_options" in fields ? { stream_options: { a: 1 } } : {}),
    }));
    await fc.assert(
      fc.asyncProperty(document, fc.integer({ min: 1, max: 40 }), fc.constantFrom(undefined, 2), async (asked, cut, indent) => {
        const text = JSON.stringify(asked, null, indent);
        const usage = "stream" in asked ? { stream_options: { ...("stream_options" in asked ? { a: 1 } : {}), include_usage: true } } : {};
        expect(JSON.parse(await pass(text, { cut }))).toEqual({ ...(JSON.parse(text) as object), model: "ours", ...usage });
      }),
      { numRuns: 200 },
    );
  });

  // Another parser might read these differently and use another model than the one that was checked.
  test.each([
    ['{"model":"a","model":"b"}', "occurs twice"],
    ['{"model":"a","Model":"b"}', "occurs twice"],
    ['{"MODEL":"b"}', "lower case"],
    ['{"\\u006dodel":"b"}', "escaped"],
    ['{"model\\u0000":"b"}', "escaped"],
    ['{"\uff4dodel":"b"}', "plain ASCII"],
    ['{"model":"a"}{"model":"b"}', "is unexpected"],
    ['{"model":"a",/*"*/"model":"b"}', "is unexpected"],
    ["{'model':'b'}", "is unexpected"],
    ['\ufeff{"model":"a"}', "is unexpected"],
    ['{"stream":1}', "stream must be true or false"],
    ['{"stream":"true"}', "must be true or false"],
    ['{"model":["b"]}', "model must be a string"],
    ['{"stream":true,"stream_options":[]}', "stream_options must be an object"],
    [`{"stream":true,"stream_options":{"a":"${"x".repeat(5000)}"}}`, "stream_options is too large"],
    ["[]", "not a JSON object"],
    ["null", "not a JSON object"],
    ["", "is incomplete"],
    ['{"messages":', "is incomplete"],
    [`{"messages":${"[".repeat(5000)}`, "nested deeper than 128 levels"],
  ])("is refused when it is %.60s", async (sent, message) => {
    expect(await refusalOf(sent)).toContain(message);
  });

  test("is refused when it is not UTF-8", async () => {
    expect(await refusalOf(Buffer.from('{"model":"\xff"}', "latin1"))).toContain("not UTF-8");
    expect(await refusalOf(Buffer.from('{"messages":["\xc0\xaf"]}', "latin1"))).toContain("not UTF-8");
    expect(await refusalOf(Buffer.from('{"model":"a"}', "utf16le"))).toContain("is unexpected");
  });
});

test("a stall while a body is checked is named after the check", async () => {
  const shape = REQUEST_SHAPES.chat;
  const request = Object.assign(Readable.from([Buffer.from('{"model":"a"}')]), { headers: {} }) as unknown as IncomingMessage;
  using slot = await limits.takeBodySlot("sbx_1", new AbortController().signal);
  const others = async () => {
    await turn();
    markWork({ name: "something else" });
  };
  await readRequestBody(request, { shape, policy, slot, maxBytes: 1024, timeoutMs: 10_000, turn: others });
  expect(currentWork().name).toBe("model request scan");
});
