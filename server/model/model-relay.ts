import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import type { SandboxId, Template } from "@berth/contract";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../secrets.ts";
import type { Db } from "../store/schema.ts";
import { addModelUsage, modelUsageOf } from "../store/model-usage.ts";
import { findSessionBySandbox, type SessionRow } from "../store/sessions.ts";
import type { Templates } from "../templates.ts";
import { type ModelConfig, modelEnv, modelOf } from "./model-config.ts";
import { BodyTooLargeError, presentedToken, providerBody, providerHeaders, providerPath, readBody } from "./model-request.ts";
import { createModelTokens } from "./model-tokens.ts";
import { createUsageMeter, type TokenUsage } from "./usage-meter.ts";

// Lets agents in sandboxes use a model without seeing its key: requests come in at the sandbox's own way out with the
// session's token, and leave with the real key. Tokens are counted for each session and can be capped.
export interface ModelRelay {
  // For `/model/…` at the egress socket of this sandbox.
  handle: (request: IncomingMessage, response: ServerResponse, sandboxId: SandboxId) => void;
  // What the sandbox needs to know to use it; empty when no model is configured.
  env(sandboxId: SandboxId, template: Template): Record<string, string>;
}

export interface ModelRelayDeps {
  config: Pick<Config, "modelProvider" | "modelBaseUrl" | "modelApiKey" | "modelName" | "modelTokenCap">;
  templates: Templates;
  secrets: Secrets;
  db: Db;
  clock: Clock;
  log: Log;
  // Where a template's key is looked up.
  serverEnv?: NodeJS.ProcessEnv;
}

const MAX_BODY_BYTES = 16 * 1024 * 1024;
// Of all sandboxes together: requests wait in memory until they are complete.
const MAX_WAITING_BYTES = 256 * 1024 * 1024;
const MAX_CONCURRENT = 16;
const ANSWER_TIMEOUT_MS = 300_000;

export function createModelRelay({ config, templates, secrets, db, clock, log, serverEnv = process.env }: ModelRelayDeps): ModelRelay {
  const tokens = createModelTokens(secrets);
  const underWay = new Map<SandboxId, number>();
  let waitingBytes = 0;

  return {
    handle(request, response, sandboxId) {
      response.on("error", () => {});
      relay(request, response, sandboxId).catch((error: unknown) => {
        if (error instanceof Refusal) return refuse(response, error);
        if (!response.destroyed) log.warn("model.failed", { sandboxId, error: String(error) });
        refuse(response, new Refusal(502, "model_unreachable", "The model does not answer; try again in a moment"));
      });
    },
    env(sandboxId, template) {
      const model = modelOf(config, template, serverEnv);
      return model ? modelEnv(model, tokens.issue(sandboxId)) : {};
    },
  };

  async function relay(request: IncomingMessage, response: ServerResponse, sandboxId: SandboxId): Promise<void> {
    if (!tokens.check(sandboxId, presentedToken(request.headers)))
      throw new Refusal(401, "unauthorized", "The session's model token is missing or wrong");
    const session = await findSessionBySandbox(db, sandboxId);
    const template = session && templates.get(session.template);
    const model = template && modelOf(config, template, serverEnv);
    if (!session || !model) throw new Refusal(404, "no_model", "No model is configured for this session");
    const path = providerPath(model.provider, request.method ?? "", request.url ?? "");
    if (path === null) throw new Refusal(404, "not_relayed", "This part of the model's interface is not passed on");
    await checkCap(session, model);

    const current = underWay.get(sandboxId) ?? 0;
    if (current >= MAX_CONCURRENT) throw new Refusal(429, "too_many_requests", "Too many requests to the model at once");
    underWay.set(sandboxId, current + 1);
    let held = 0;
    try {
      const body = await readBody(request, MAX_BODY_BYTES, (bytes) => {
        held += bytes;
        waitingBytes += bytes;
        if (waitingBytes > MAX_WAITING_BYTES) throw new Refusal(503, "busy", "Too much is on its way to the model; try again in a moment");
      });
      await passOn({ model, session, path, request, response, body });
    } catch (error) {
      throw error instanceof BodyTooLargeError ? new Refusal(413, "too_large", "The request to the model is larger than 16 MiB") : error;
    } finally {
      waitingBytes -= held;
      const left = (underWay.get(sandboxId) ?? 1) - 1;
      if (left === 0) underWay.delete(sandboxId);
      else underWay.set(sandboxId, left);
    }
  }

  async function checkCap({ id }: SessionRow, { tokenCap }: ModelConfig): Promise<void> {
    if (tokenCap === null) return;
    const { input, output } = await modelUsageOf(db, id);
    // As OpenAI answers when the money is gone. Agents show these words, while 402 and 403 become advice about accounts.
    if (input + output >= tokenCap) throw new Refusal(429, "insufficient_quota", `This session has used its ${tokenCap} tokens`);
  }

  async function passOn({ model, session, path, request, response, body }: Passage): Promise<void> {
    const sent = request.method === "POST" ? providerBody(model, path, body) : body;
    if (sent === null) throw new Refusal(400, "bad_request", "The request to the model is not a JSON object");
    const answer = await send(model, path, request, sent, response);
    const status = answer.statusCode ?? 502;
    if (status === 401 || status === 403) {
      // Its words may hold a part of the key, and it is the operator who has to act.
      answer.resume();
      log.error("model.key_refused", { provider: model.provider, status });
      throw new Refusal(502, "model_key_refused", "The model's provider refuses the server's key; the operator has to look at it");
    }
    const contentType = answer.headers["content-type"] ?? "application/json";
    const meter = createUsageMeter(model.provider, contentType);
    const retryAfter = answer.headers["retry-after"];
    // One that packs unasked: the caller is told, and unpacks where its own bounds hold. Nobody does it here.
    const encoding = answer.headers["content-encoding"];
    response.writeHead(status, {
      "Content-Type": contentType,
      "Cache-Control": "no-store",
      ...(retryAfter ? { "Retry-After": retryAfter } : {}),
      ...(encoding ? { "Content-Encoding": encoding } : {}),
    });
    try {
      await pipeline(
        answer,
        async function* (source: AsyncIterable<Buffer>) {
          for await (const chunk of source) {
            meter.see(chunk);
            yield chunk;
          }
        },
        response,
      );
    } finally {
      if (status < 400 && request.method === "POST") await count(session, meter.usage() ?? estimate(sent, meter.pieces));
    }
  }

  async function count(session: SessionRow, usage: TokenUsage): Promise<void> {
    try {
      await addModelUsage(db, session, usage, clock.now());
    } catch (error) {
      log.error("model.usage_lost", { sessionId: session.id, ...usage, error: String(error) });
    }
  }
}

interface Passage {
  model: ModelConfig;
  session: SessionRow;
  path: string;
  request: IncomingMessage;
  response: ServerResponse;
  body: Buffer;
}

// Whoever hangs up before the provider has told the price pays about what it was.
const estimate = (sent: Buffer, pieces: number): TokenUsage => ({ input: Math.ceil(sent.length / 4), output: pieces });

function send(
  model: ModelConfig,
  path: string,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<IncomingMessage> {
  const url = new URL(model.baseUrl + path);
  const start = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const outgoing = start(url, {
      method: request.method,
      headers: { ...providerHeaders(model, request.headers), ...(body.length > 0 ? { "content-length": body.length } : {}) },
      timeout: ANSWER_TIMEOUT_MS,
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error("The model's provider did not answer in time")));
    outgoing.on("error", reject);
    outgoing.on("response", resolve);
    response.on("close", () => outgoing.destroy());
    outgoing.end(body);
  });
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// In a shape that the libraries of both providers read.
function refuse(response: ServerResponse, { status, code, message }: Refusal): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  response.writeHead(status, { "Content-Type": "application/json", Connection: "close" });
  response.end(JSON.stringify({ type: "error", error: { type: code, code, message } }));
}
