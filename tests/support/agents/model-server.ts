import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

// A scripted language model on a loopback port. It serves OpenAI's chat completions and Anthropic's messages, streamed or
// not, and OpenAI's responses, streamed.
export interface ModelServer extends AsyncDisposable {
  readonly url: string;
  // Every request, in order of arrival.
  readonly requests: ModelRequest[];
  // The next replies, one per request that offers tools. When the script is empty, the reply is "Done."
  script: ModelReply[];
  // The reply to a request without tools, which agents use to ask for a title.
  title: string | ModelError;
  // The token usage that every reply reports.
  usage: ModelUsage;
}

export interface ModelRequest {
  path: string;
  headers: IncomingMessage["headers"];
  body: { model?: string; tools?: unknown[]; messages?: unknown[]; stream?: boolean };
}

export type ModelReply =
  // With `until`, the last word waits for that promise.
  | { say: string; until?: Promise<unknown> }
  // Sends the words one by one, then keeps the connection open until the caller closes it.
  | { sayAndHang: string }
  | ToolCall
  // Several calls in one answer. Only for chat completions.
  | { tools: ToolCall[] }
  | ModelError
  // Never answers.
  | { hang: true };

export interface ModelError {
  // With 200, the answer begins, and the error is an event in it.
  status: number;
  error: string;
  // The provider's own code of the error.
  code?: string;
  // Seconds.
  retryAfter?: number;
}

export interface ToolCall {
  tool: string;
  input: Record<string, unknown>;
}

export interface ModelUsage {
  input: number;
  output: number;
}

export const MODEL_USAGE: ModelUsage = { input: 120, output: 30 };

export async function startModelServer(): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const model: ModelServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    script: [],
    title: "A fitting title",
    usage: MODEL_USAGE,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return model;

  function titleReply(): ModelReply {
    return typeof model.title === "string" ? { say: model.title } : model.title;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const body = text === "" ? {} : JSON.parse(text);
    requests.push({ path: request.url ?? "", headers: request.headers, body });
    const reply: ModelReply = body.tools?.length ? (model.script.shift() ?? { say: "Done." }) : titleReply();
    if ("hang" in reply) return;
    if ("status" in reply) return sendError(response, reply);
    const send = request.url?.endsWith("/responses")
      ? sendResponses
      : request.url?.includes("/messages")
        ? sendMessages
        : sendChatCompletion;
    await send(response, { reply, usage: model.usage, isStreamed: body.stream === true });
  }
}

interface Answer {
  reply: SpokenReply;
  usage: ModelUsage;
  isStreamed: boolean;
}

type SpokenReply = Exclude<ModelReply, ModelError | { hang: true }>;

function sendError(response: ServerResponse, { status, error: message, code, retryAfter }: ModelError): void {
  if (status === 200) {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    sendEvent(response, { type: "error", error: { message, type: code } }, "error");
    return void response.end();
  }
  response.writeHead(status, { "Content-Type": "application/json", ...(retryAfter === undefined ? {} : { "Retry-After": retryAfter }) });
  response.end(JSON.stringify({ type: "error", error: { message, code, type: code } }));
}

async function sendChatCompletion(response: ServerResponse, { reply, usage: { input, output }, isStreamed }: Answer): Promise<void> {
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
  };
  const head = { id: "chat-1", created: 1, model: "scripted" };
  const calls = ("tools" in reply ? reply.tools : "tool" in reply ? [reply] : []).map(({ tool, input: given }, index) => ({
    id: `call_${Date.now()}_${index}`,
    type: "function",
    function: { name: tool, arguments: JSON.stringify(given) },
  }));
  const finish = calls.length > 0 ? "tool_calls" : "stop";
  if (!isStreamed) {
    const message = { role: "assistant", content: wordsOf(reply).join(""), ...(calls.length > 0 ? { tool_calls: calls } : {}) };
    return sendJson(response, { ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason: finish }], usage });
  }
  const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) =>
    sendEvent(response, { ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }], ...more });
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  for await (const word of wordsInTime(reply)) chunk({ role: "assistant", content: word });
  if ("sayAndHang" in reply) return;
  for (const [index, call] of calls.entries()) chunk({ role: "assistant", tool_calls: [{ index, ...call }] });
  chunk({}, finish);
  sendEvent(response, { ...head, object: "chat.completion.chunk", choices: [], usage });
  response.end("data: [DONE]\n\n");
}

async function sendResponses(response: ServerResponse, { reply, usage: { input, output } }: Answer): Promise<void> {
  const head = { id: "resp_1", object: "response", created_at: 1, model: "scripted", status: "in_progress", output: [] };
  const usage = {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  let sequence_number = 0;
  const event = (type: string, fields: object) =>
    sendEvent(response, { type, sequence_number: sequence_number++, output_index: 0, ...fields }, type);
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  event("response.created", { response: head });
  let item: object;
  if ("tool" in reply) {
    const call = { type: "function_call", id: "fc_1", call_id: `call_${Date.now()}`, name: reply.tool };
    const text = JSON.stringify(reply.input);
    event("response.output_item.added", { item: { ...call, arguments: "", status: "in_progress" } });
    event("response.function_call_arguments.delta", { item_id: call.id, delta: text });
    event("response.function_call_arguments.done", { item_id: call.id, arguments: text });
    item = { ...call, arguments: text, status: "completed" };
  } else {
    const message = { type: "message", id: "msg_1", role: "assistant" };
    const place = { item_id: message.id, content_index: 0 };
    event("response.output_item.added", { item: { ...message, status: "in_progress", content: [] } });
    event("response.content_part.added", { ...place, part: { type: "output_text", text: "", annotations: [] } });
    for await (const delta of wordsInTime(reply)) event("response.output_text.delta", { ...place, delta, logprobs: [] });
    if ("sayAndHang" in reply) return;
    const part = { type: "output_text", text: wordsOf(reply).join(""), annotations: [] };
    event("response.output_text.done", { ...place, text: part.text, logprobs: [] });
    event("response.content_part.done", { ...place, part });
    item = { ...message, status: "completed", content: [part] };
  }
  event("response.output_item.done", { item });
  event("response.completed", { response: { ...head, status: "completed", output: [item], usage } });
  response.end();
}

async function sendMessages(response: ServerResponse, { reply, usage: { input, output }, isStreamed }: Answer): Promise<void> {
  const usage = { input_tokens: input, output_tokens: output };
  const head = { id: "msg_1", type: "message", role: "assistant", model: "scripted" };
  const call = "tool" in reply ? { type: "tool_use", id: `toolu_${Date.now()}`, name: reply.tool, input: reply.input } : null;
  const stop_reason = call ? "tool_use" : "end_turn";
  if (!isStreamed)
    return sendJson(response, { ...head, content: [call ?? { type: "text", text: wordsOf(reply).join("") }], stop_reason, usage });

  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const event = (type: string, fields: object) => sendEvent(response, { type, ...fields }, type);
  event("message_start", { message: { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } } });
  event("content_block_start", { index: 0, content_block: call ? { ...call, input: {} } : { type: "text", text: "" } });
  for await (const text of wordsInTime(reply)) event("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
  if (call) event("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: JSON.stringify(call.input) } });
  if ("sayAndHang" in reply) return;
  event("content_block_stop", { index: 0 });
  event("message_delta", { delta: { stop_reason }, usage: { output_tokens: output } });
  event("message_stop", {});
  response.end();
}

async function* wordsInTime(reply: SpokenReply): AsyncGenerator<string> {
  const words = wordsOf(reply);
  for (const [index, word] of words.entries()) {
    if ("until" in reply && index === words.length - 1) await reply.until;
    yield word;
  }
}

function wordsOf(reply: SpokenReply): string[] {
  const text = "say" in reply ? reply.say : "sayAndHang" in reply ? reply.sayAndHang : "";
  return text.match(/\S+\s*/g) ?? [];
}

function sendEvent(response: ServerResponse, data: object, name?: string): void {
  response.write(`${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`);
}

function sendJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
