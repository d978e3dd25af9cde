import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createUsageMeter, type TokenUsage } from "@berth/contract/model/usage-meter.ts";
import { coverConnection } from "../../http/boundary.ts";
import { sendAnswer, sendUpstream } from "../../http/forward.ts";
import { listen } from "../../http/listen.ts";
import { type ModelFault, modelFault, withoutRelayAddresses } from "./model-fault.ts";

// Forwards the agent's requests to the model relay of the server, and reports how each of them ends. Agents describe failures in
// prose of their own, or not at all.
export interface ModelForwarder {
  // The environment of the agent, with the addresses of the model relay replaced by this forwarder's.
  redirect(env: Record<string, string>): Promise<Record<string, string>>;
  // The port that it listens on, if the agent uses the relay.
  ports(): number[];
  // The agent's text without the addresses of relays.
  hideAddresses(text: string): string;
}

export interface ModelCallObserver {
  begin(call: ModelCall): void;
  // Why the request must not be sent; null if it may be.
  refusal(call: ModelCall): string | null;
  // The request is complete, so `hasTools` is known. `wasRefused`: it was not sent.
  sent(call: ModelCall, { wasRefused }: { wasRefused: boolean }): void;
  // The tokens that an answer has cost, or a part of it before the agent gave it up.
  used(call: ModelCall, usage: TokenUsage): void;
  // The model begins its answer.
  answer(call: ModelCall): void;
  // `fault` is null if the model has answered.
  end(call: ModelCall, fault: ModelFault | null): void;
  // The agent has given the request up, which says nothing about the model.
  drop(call: ModelCall): void;
}

export interface ModelCall {
  headers: IncomingHttpHeaders;
  // Whether the model may use tools. The requests of a turn do; those for a title do not. Known at the end.
  hasTools: boolean;
  // Sends only the head of an answer if the model has not begun one. Until then, goose ignores a cancellation.
  beginAnswer(): void;
}

const RELAYED = /^http:\/\/127\.0\.0\.1:\d+(?=\/model\/)/;
const TOOLS = /"tools"\s*:\s*\[\s*\{/;
const TOOLS_LENGTH = 40;
// `event: error` of Anthropic, `event: response.failed` of OpenAI's responses, and `data: {"error": …}` of chat completions.
const ERROR_EVENT = /^(?:event: (?:error|response\.failed)\r?\ndata: (.*)|data: (\{"error".*))$/m;
const MAX_ERROR_LENGTH = 64 * 1024;

export function createModelForwarder(observer: ModelCallObserver): ModelForwarder {
  let server: Promise<Server> | null = null;
  let port: number | null = null;
  let upstream = "";

  return {
    async redirect(env) {
      const relayed = Object.values(env).find((value) => RELAYED.test(value));
      if (relayed === undefined) return env;
      upstream = RELAYED.exec(relayed)?.[0] ?? "";
      ({ port } = (await (server ??= open())).address() as AddressInfo);
      const own = `http://127.0.0.1:${port}`;
      return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.replace(RELAYED, own)]));
    },
    ports: () => (port === null ? [] : [port]),
    hideAddresses: (text) => withoutRelayAddresses(text, port),
  };

  async function open(): Promise<Server> {
    const opened = createServer((request, response) => void forward(request, response));
    // The agent closes its own idle connections. If we did, it could use one at that moment.
    opened.keepAliveTimeout = 0;
    opened.requestTimeout = 0;
    opened.unref();
    await new Promise<void>((resolve, reject) => {
      opened.once("listening", resolve).once("error", reject);
      listen(opened, { host: "127.0.0.1", port: 0 });
    });
    return opened;
  }

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const cover = coverConnection(request, response);
    const beginAnswer = () => {
      if (response.headersSent || response.destroyed) return;
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.flushHeaders();
    };
    const call: ModelCall = { headers: request.headers, hasTools: false, beginAnswer };
    const report = request.method === "POST" ? observer : null;
    report?.begin(call);
    const refusal = report?.refusal(call) ?? null;
    const size = noteBody(request, call);
    request.on("end", () => report?.sent(call, { wasRefused: refusal !== null }));
    if (refusal !== null) return refuse(request, response, refusal);
    response.on("close", () => void (response.writableFinished || report?.drop(call)));
    const fail = () => {
      report?.end(call, modelFault(null, ""));
      response.destroy();
    };
    try {
      const { hostname: host, port } = new URL(upstream);
      const answer = await sendUpstream({ request, response, cover }, { host, port, path: request.url, agent: false });
      // The turn was cancelled, and the agent has the head of another answer.
      if (response.headersSent) return void answer.destroy();
      if (answer.statusCode < 400) report?.answer(call);
      if (answer.statusCode < 400) meterAnswer(request, answer, size, (usage) => report?.used(call, usage));
      const faultIn = answer.statusCode < 400 ? watchStream(answer) : watchError(answer, answer.statusCode);
      answer.on("end", () => report?.end(call, faultIn()));
      answer.on("error", fail);
      sendAnswer(answer, response);
    } catch {
      fail();
    }
  }
}

function watchError(answer: IncomingMessage, status: number): () => ModelFault {
  let text = "";
  answer.on("data", (chunk: Buffer) => (text = `${text}${chunk.toString()}`.slice(0, MAX_ERROR_LENGTH)));
  return () => modelFault(status, text);
}

// An answer that has begun can still end with an error, as an event.
function watchStream(answer: IncomingMessage): () => ModelFault | null {
  let fault: ModelFault | null = null;
  answer.on("data", (chunk: Buffer) => {
    const event = ERROR_EVENT.exec(chunk.toString());
    if (event) fault = modelFault(500, event[1] ?? event[2] ?? "");
  });
  return () => fault;
}

// An error after which agents do not try again.
function refuse(request: IncomingMessage, response: ServerResponse, message: string): void {
  request.resume().once("end", () => {
    response.writeHead(400, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ type: "error", error: { type: "invalid_request_error", code: "run_limit", message } }));
  });
}

const BYTES_PER_TOKEN = 4;

// Reports the tokens of an answer once, when it ends for whatever reason. What the provider does not report is estimated.
function meterAnswer(
  { url = "" }: IncomingMessage,
  answer: IncomingMessage,
  size: () => number,
  report: (usage: TokenUsage) => void,
): void {
  const meter = createUsageMeter({
    provider: url.includes("/messages") ? "anthropic" : "openai",
    contentType: answer.headers["content-type"] ?? "",
    isEncoded: answer.headers["content-encoding"] !== undefined,
  });
  answer.on("data", (chunk: Buffer) => meter.see(chunk));
  answer.once("close", () => {
    const { input, output } = meter.reported();
    report({
      input: input || Math.ceil(size() / BYTES_PER_TOKEN),
      output: meter.isFinal() && output !== undefined ? output : Math.max(output ?? 0, meter.seen()),
    });
  });
}

// Finds out whether the request offers tools. A quote in a text of the JSON has a backslash before it, so this finds only a field.
// Returns the bytes of the body so far.
function noteBody(request: IncomingMessage, call: ModelCall): () => number {
  let tail = "";
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (call.hasTools) return;
    const text = tail + chunk.toString("latin1");
    call.hasTools = TOOLS.test(text);
    tail = text.slice(-TOOLS_LENGTH);
  });
  return () => bytes;
}
