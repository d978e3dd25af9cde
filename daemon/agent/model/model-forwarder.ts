import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
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
    const call: ModelCall = { headers: request.headers, hasTools: false };
    const report = request.method === "POST" ? observer : null;
    report?.begin(call);
    noteTools(request, call);
    response.on("close", () => void (response.writableFinished || report?.drop(call)));
    const fail = () => {
      report?.end(call, modelFault(null, ""));
      response.destroy();
    };
    try {
      const { hostname: host, port } = new URL(upstream);
      const answer = await sendUpstream({ request, response, cover }, { host, port, path: request.url, agent: false });
      if (answer.statusCode < 400) report?.answer(call);
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

// A quote in a text of the JSON has a backslash before it, so this finds only a field.
function noteTools(request: IncomingMessage, call: ModelCall): void {
  let tail = "";
  request.on("data", (chunk: Buffer) => {
    if (call.hasTools) return;
    const text = tail + chunk.toString("latin1");
    call.hasTools = TOOLS.test(text);
    tail = text.slice(-TOOLS_LENGTH);
  });
}
