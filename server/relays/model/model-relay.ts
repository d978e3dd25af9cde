import type { IncomingMessage, ServerResponse } from "node:http";
import type { SandboxId, Template } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import { createConnectionBoundary } from "../../faults/connection-boundary.ts";
import type { Log } from "../../log.ts";
import { createHostResolver, toLookup, type Resolve } from "../../network/host-resolver.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import type { Db } from "../../store/schema.ts";
import { modelUsageOf } from "../../store/model-usage.ts";
import { findModelUser, type ModelUser } from "../../store/model-usage.ts";
import type { Templates } from "../../templates.ts";
import { createLoopTurns } from "../../event-loop/loop-turns.ts";
import { passAnswerOn } from "./model-answer.ts";
import { type ModelConfig, modelEnv, modelOf } from "./provider/model-config.ts";
import { createModelLimits } from "./admission/model-limits.ts";
import { answerRefusal, ModelRefusal } from "./admission/model-refusal.ts";
import { presentedToken, providerBody, providerHeaders, providerTarget, type ProviderTarget } from "./request/provider-request.ts";
import { createModelTokens } from "./admission/model-tokens.ts";
import { openUpstream, type Upstream } from "./provider/provider-connection.ts";
import { readRequestBody } from "./request/request-body.ts";
import type { ModelApi } from "./request/request-fields.ts";
import { REQUEST_SHAPES, requestPolicyOf, type RequestPolicy } from "./request/request-rules.ts";
import { beginCount, type UsageCount } from "./usage/usage-count.ts";
import type { UsageMeter } from "./usage/usage-meter.ts";

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
  // Resolves the provider's name.
  resolve?: Resolve;
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
  resolve = createHostResolver(),
}: ModelRelayDeps): ModelRelay {
  const tokens = createModelTokens(secrets);
  const maxBodyBytes = config.modelMaxBodyMb * 1024 * 1024;
  const limits = createModelLimits({ clock, requestsPerMinute: config.modelRatePerMinute, maxBodyBytes });
  const turn = createLoopTurns();
  const lookup = toLookup(resolve);

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
    const user = await findModelUser(db, sandboxId);
    const template = user && templates.get(user.template);
    const model = template && modelOf(config, template, serverEnv);
    if (!user || !template || !model) throw new ModelRefusal(404, "no_model", "No model is configured for this session");
    const target = providerTarget(model.provider, request.method ?? "", request.url ?? "");
    if (!target) throw new ModelRefusal(404, "not_relayed", "This part of the model's interface is not passed on");

    const hungUp = new AbortController();
    response.once("close", () => hungUp.abort());
    const policy = requestPolicyOf(template, model);
    const exchange = await begin({ user, model, policy, target, request, sandboxId, hungUp: hungUp.signal });
    try {
      await finish(exchange, response, hungUp.signal);
    } finally {
      exchange.upstream.destroy();
    }
  }

  // Sends the request on. Its body is in memory until the provider has taken it, and so long the sandbox's next one waits.
  async function begin({ user, model, policy, target, request, sandboxId, hungUp }: Asked): Promise<Exchange> {
    using slot = await limits.takeBodySlot(sandboxId, hungUp);
    await checkCap(user, model);
    const { body, promptTokens } = target.api === null ? NO_BODY : await readBody(target.api);
    hungUp.throwIfAborted();
    const count = target.costsTokens ? await beginCount({ db, clock, log }, user, promptTokens) : null;
    try {
      const url = model.baseUrl + target.path;
      const headers = providerHeaders(model, request.headers);
      const boundary = createConnectionBoundary({ log, connection: "model provider", fields: { sandboxId } });
      const options = { timeoutMs: answerTimeoutMs, signal: hungUp, lookup, boundary };
      const upstream = openUpstream({ url, method: target.method, headers, body, ...options });
      await upstream.sent;
      return { model, upstream, count };
    } catch (error) {
      await count?.cancel();
      throw error;
    }

    async function readBody(api: ModelApi) {
      const options = { shape: REQUEST_SHAPES[api], policy, slot, maxBytes: maxBodyBytes, timeoutMs: bodyTimeoutMs, turn };
      const read = await readRequestBody(request, options);
      return { body: providerBody(model, policy, api, read), promptTokens: read.promptTokens };
    }
  }

  // Passes the answer on, and counts its tokens before the caller has its end.
  async function finish({ model, upstream, count }: Exchange, response: ServerResponse, hungUp: AbortSignal): Promise<void> {
    const { provider } = model;
    let meter: UsageMeter | undefined;
    let complete = false;
    let free = false;
    try {
      const answer = await upstream.answer;
      const { statusCode: status = 0 } = answer;
      free = status >= 300;
      if (status === 401 || status === 403) {
        // Its words may hold a part of the key, and it is the operator who has to act.
        log.error("model.key_refused", { provider, status });
        throw new ModelRefusal(502, "model_key_refused", "The model's provider refuses the server's key; the operator has to look at it");
      }
      await passAnswerOn(answer, response, { provider, turn }, (created) => (meter = created));
      complete = true;
    } finally {
      // Without an answer it is free, too, unless it was the caller who did not wait for it.
      if (free || (meter === undefined && !hungUp.aborted)) await count?.cancel();
      else await count?.settle(meter, { complete });
    }
    response.end();
  }

  async function checkCap({ sessionId }: ModelUser, { tokenCap }: ModelConfig): Promise<void> {
    if (tokenCap === null) return;
    const { input, output } = await modelUsageOf(db, sessionId);
    // Agents show these words and give up. OpenAI would answer 429, which opencode asks again for a minute, as it does after
    // any text with a 500 in it, such as a cap of 5000; 402 and 403 become advice about accounts.
    if (input + output >= tokenCap) throw new ModelRefusal(400, "insufficient_quota", "This session has used all its tokens");
  }
}

const NO_BODY = { body: [], promptTokens: 0 };

interface Asked {
  user: ModelUser;
  model: ModelConfig;
  policy: RequestPolicy;
  target: ProviderTarget;
  request: IncomingMessage;
  sandboxId: SandboxId;
  hungUp: AbortSignal;
}

interface Exchange {
  model: ModelConfig;
  upstream: Upstream;
  // null: it costs nothing.
  count: UsageCount | null;
}
