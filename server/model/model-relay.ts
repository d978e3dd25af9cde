import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { SandboxId, Template } from "@berth/contract";
import { SECOND, type Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../secrets.ts";
import type { Db } from "../store/schema.ts";
import { addModelUsage, modelUsageOf } from "../store/model-usage.ts";
import { findSessionBySandbox, type SessionRow } from "../store/sessions.ts";
import type { Templates } from "../templates.ts";
import { createLoopTurns } from "./loop-turns.ts";
import { type ModelConfig, modelEnv, modelOf } from "./model-config.ts";
import { createModelLimits } from "./model-limits.ts";
import { answerRefusal, ModelRefusal } from "./model-refusal.ts";
import { presentedToken, providerBody, providerHeaders, providerTarget, type ProviderTarget } from "./model-request.ts";
import { createModelTokens } from "./model-tokens.ts";
import { openUpstream, type Upstream } from "./model-upstream.ts";
import { readRequestBody } from "./request-body.ts";
import { REQUEST_SHAPES, requestPolicyOf, type RequestPolicy } from "./request-rules.ts";
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
  config: Pick<
    Config,
    "modelProvider" | "modelBaseUrl" | "modelApiKey" | "modelName" | "modelTokenCap" | "modelMaxBodyMb" | "modelRatePerMinute"
  >;
  templates: Templates;
  secrets: Secrets;
  db: Db;
  clock: Clock;
  log: Log;
  // Where a template's key is looked up.
  serverEnv?: NodeJS.ProcessEnv;
  // A sandbox is a few milliseconds away, so only one that stops sending comes near it.
  bodyTimeoutMs?: number;
  answerTimeoutMs?: number;
}

export function createModelRelay({
  config,
  templates,
  secrets,
  db,
  clock,
  log,
  serverEnv = process.env,
  bodyTimeoutMs = 30 * SECOND,
  answerTimeoutMs = 300 * SECOND,
}: ModelRelayDeps): ModelRelay {
  const tokens = createModelTokens(secrets);
  const maxBodyBytes = config.modelMaxBodyMb * 1024 * 1024;
  const limits = createModelLimits({ clock, requestsPerMinute: config.modelRatePerMinute, maxBodyBytes });
  const turn = createLoopTurns();

  return {
    handle(request, response, sandboxId) {
      response.on("error", () => {});
      relay(request, response, sandboxId).catch((error: unknown) => {
        if (error instanceof ModelRefusal) return answerRefusal(response, error);
        if (!response.destroyed) log.warn("model.failed", { sandboxId, error: String(error) });
        answerRefusal(response, new ModelRefusal(502, "model_unreachable", "The model does not answer; try again in a moment"));
      });
    },
    env(sandboxId, template) {
      const model = modelOf(config, template, serverEnv);
      return model ? modelEnv(model, tokens.issue(sandboxId)) : {};
    },
  };

  async function relay(request: IncomingMessage, response: ServerResponse, sandboxId: SandboxId): Promise<void> {
    using _place = limits.admit(sandboxId);
    if (!tokens.check(sandboxId, presentedToken(request.headers)))
      throw new ModelRefusal(401, "unauthorized", "The session's model token is missing or wrong");
    const session = await findSessionBySandbox(db, sandboxId);
    const template = session && templates.get(session.template);
    const model = template && modelOf(config, template, serverEnv);
    if (!session || !template || !model) throw new ModelRefusal(404, "no_model", "No model is configured for this session");
    const target = providerTarget(model.provider, request.method ?? "", request.url ?? "");
    if (!target) throw new ModelRefusal(404, "not_relayed", "This part of the model's interface is not passed on");

    const hungUp = new AbortController();
    response.once("close", () => hungUp.abort());
    const policy = requestPolicyOf(template, model);
    const exchange = await begin({ session, model, policy, target, request, sandboxId, hungUp: hungUp.signal });
    try {
      await passOn(exchange, response);
    } finally {
      exchange.upstream.destroy();
    }
  }

  // Sends the request on. Its body is in memory until the provider has taken it, and so long the sandbox's next one waits.
  async function begin({ session, model, policy, target, request, sandboxId, hungUp }: Asked): Promise<Exchange> {
    using slot = await limits.takeBodySlot(sandboxId, hungUp);
    await checkCap(session, model);
    const body = target.api === null ? [] : await readBody(target.api);
    hungUp.throwIfAborted();
    const upstream = openUpstream({
      url: model.baseUrl + target.path,
      method: target.method,
      headers: providerHeaders(model, request.headers),
      body,
      timeoutMs: answerTimeoutMs,
      signal: hungUp,
    });
    await upstream.sent;
    return { session, model, target, upstream, sentBytes: body.reduce((sum, { length }) => sum + length, 0) };

    async function readBody(api: NonNullable<ProviderTarget["api"]>): Promise<Buffer[]> {
      const shape = REQUEST_SHAPES[api];
      const read = await readRequestBody(request, { shape, policy, slot, maxBytes: maxBodyBytes, timeoutMs: bodyTimeoutMs, turn });
      return providerBody(model, policy, api, read);
    }
  }

  async function checkCap({ id }: SessionRow, { tokenCap }: ModelConfig): Promise<void> {
    if (tokenCap === null) return;
    const { input, output } = await modelUsageOf(db, id);
    // As OpenAI answers when the money is gone. Agents show these words, while 402 and 403 become advice about accounts.
    if (input + output >= tokenCap) throw new ModelRefusal(429, "insufficient_quota", `This session has used its ${tokenCap} tokens`);
  }

  async function passOn({ session, model, target, upstream, sentBytes }: Exchange, response: ServerResponse): Promise<void> {
    const answer = await upstream.answer;
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 599)
      throw new ModelRefusal(502, "model_unreachable", "The model's provider answers with a status that does not exist");
    if (status === 401 || status === 403) {
      // Its words may hold a part of the key, and it is the operator who has to act.
      log.error("model.key_refused", { provider: model.provider, status });
      throw new ModelRefusal(502, "model_key_refused", "The model's provider refuses the server's key; the operator has to look at it");
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
      if (status < 400 && target.api !== null) await count(session, meter.usage() ?? estimate(sentBytes, meter.pieces));
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

interface Asked {
  session: SessionRow;
  model: ModelConfig;
  policy: RequestPolicy;
  target: ProviderTarget;
  request: IncomingMessage;
  sandboxId: SandboxId;
  hungUp: AbortSignal;
}

interface Exchange {
  session: SessionRow;
  model: ModelConfig;
  target: ProviderTarget;
  upstream: Upstream;
  sentBytes: number;
}

// Whoever hangs up before the provider has told the price pays about what it was.
const estimate = (sentBytes: number, pieces: number): TokenUsage => ({ input: Math.ceil(sentBytes / 4), output: pieces });
