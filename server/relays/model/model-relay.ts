import type { IncomingMessage, ServerResponse } from "node:http";
import type { SandboxId, Template } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import { createConnectionBoundary } from "../../faults/connection-boundary.ts";
import type { Log } from "../../log.ts";
import { createHostResolver, toLookup, type Resolve } from "../../network/host-resolver.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import type { Store } from "../../store/open.ts";
import { findModelUser, modelUsageOf, type ModelUser } from "../../store/partners/model-usage.ts";
import type { Templates } from "../../templates.ts";
import { createLoopTurns } from "../../event-loop/loop-turns.ts";
import { streamAnswer } from "./model-answer.ts";
import { sendProviderError } from "./provider-error.ts";
import { type ModelConfig, modelEnv, modelOf } from "./provider/model-config.ts";
import { createModelLimits } from "./admission/model-limits.ts";
import { sendRefusal, tokensExhausted, ModelRefusal } from "./admission/model-refusal.ts";
import { presentedToken, providerBody, providerHeaders, providerTarget, type ProviderTarget } from "./request/provider-request.ts";
import type { RelayCaller } from "../../forwarding/relay-caller.ts";
import { visitOf, type Relay } from "../relays.ts";
import { createSandboxTokens } from "../sandbox-tokens.ts";
import { openUpstream, type Upstream } from "./provider/provider-connection.ts";
import { askedOutput } from "./request/asked-output.ts";
import { readRequestBody, type RequestBody } from "./request/request-body.ts";
import type { ModelApi } from "./request/request-fields.ts";
import { REQUEST_SHAPES, requestPolicyOf, type RequestPolicy } from "./request/request-rules.ts";
import { beginCount, type UsageCount } from "./usage/usage-count.ts";
import type { UsageMeter } from "@berth/contract/model/usage-meter.ts";

// Lets agents in sandboxes use a model without seeing its API key. A request arrives through the sandbox's egress proxy with the
// session's model token and leaves with the real key. Tokens are counted per session and can be capped.
export interface ModelRelay extends Relay {
  // The environment variables that let programs in the sandbox use the relay. Empty if no model is configured.
  env(sandboxId: SandboxId, template: Template): Record<string, string>;
}

export interface ModelRelayDeps {
  config: Pick<
    Config,
    "modelProvider" | "modelBaseUrl" | "modelApiKey" | "modelName" | "modelTokenCap" | "modelMaxBodyMb" | "modelRatePerMinute"
  >;
  templates: Templates;
  secrets: Secrets;
  store: Store;
  clock: Clock;
  log: Log;
  // The server's environment. Templates name the variable that holds their model's key.
  env: Record<string, string | undefined>;
  // Generous, because a sandbox is a few milliseconds away: only one that stops sending reaches it.
  bodyTimeoutMs?: number;
  answerTimeoutMs?: number;
  // Resolves the provider's name.
  resolve?: Resolve;
}

export function createModelRelay({
  config,
  templates,
  secrets,
  store,
  clock,
  log,
  env,
  bodyTimeoutMs = 30 * SECOND,
  answerTimeoutMs = 300 * SECOND,
  resolve = createHostResolver(),
}: ModelRelayDeps): ModelRelay {
  const tokens = createSandboxTokens(secrets, "model");
  const maxBodyBytes = config.modelMaxBodyMb * 1024 * 1024;
  const limits = createModelLimits({ clock, requestsPerMinute: config.modelRatePerMinute, maxBodyBytes });
  const turn = createLoopTurns();
  const lookup = toLookup(resolve);

  return {
    prefix: "model",
    handle(request, response, caller) {
      const { sandboxId } = caller;
      response.on("error", () => {});
      relay(request, response, caller).catch((error: unknown) => {
        if (error instanceof ModelRefusal) return sendRefusal(response, error);
        if (!response.destroyed) log.warn("model.failed", { sandboxId, error: String(error) });
        sendRefusal(response, new ModelRefusal(502, "model_unreachable", "The model does not answer. Try again in a moment."));
      });
    },
    env(sandboxId, template) {
      const model = modelOf(config, template, env);
      return model ? modelEnv(model, tokens.issue(sandboxId)) : {};
    },
  };

  async function relay(request: IncomingMessage, response: ServerResponse, caller: RelayCaller): Promise<void> {
    const { sandboxId } = caller;
    using _slot = limits.admit(sandboxId);
    if (!tokens.check(sandboxId, presentedToken(request.headers)))
      throw new ModelRefusal(401, "unauthorized", "The model token of the session is missing or invalid");
    const { user, egress } = (await findModelUser(store.db, sandboxId)) ?? {};
    const template = user && templates.get(user.template);
    const model = template && modelOf(config, template, env);
    if (!user || !template || !model) throw new ModelRefusal(404, "no_model", "No model is configured for this session");
    const target = providerTarget(model.provider, request.method ?? "", request.url ?? "");
    if (!target) throw new ModelRefusal(404, "not_relayed", "The model relay does not offer this part of the provider's API");

    const disconnected = new AbortController();
    response.once("close", () => disconnected.abort());
    const policy = requestPolicyOf({ ...template, egress: egress ?? template.egress }, model);
    const exchange = await sendRequest({ user, model, policy, target, request, caller, disconnected: disconnected.signal });
    try {
      await sendAnswer(exchange, response, disconnected.signal);
    } finally {
      exchange.upstream.destroy();
    }
  }

  // Sends the request to the provider. Its body stays in memory until the provider has received it, and the sandbox's next
  // request waits until then.
  async function sendRequest({ user, model, policy, target, request, caller, disconnected }: RelayedRequest): Promise<Exchange> {
    const { sandboxId } = caller;
    using slot = await limits.takeBodySlot(sandboxId, disconnected);
    await checkCap(user, model);
    const read = target.api === null ? NO_BODY : await readBody(target.api);
    disconnected.throwIfAborted();
    const asked = askedOutput(target.api, read.parts);
    const counted = { promptTokens: read.promptTokens, outputTokens: asked.tokens, isStreamed: read.parts.get("stream")?.kind === "true" };
    const { tokenCap: cap } = model;
    const count = target.costsTokens ? await beginCount({ store, clock, log }, user, counted, { cap, disconnected }) : null;
    try {
      const limits = asked.lowered(count?.reserved ?? Infinity);
      const body = target.api === null ? [] : providerBody(model, policy, target.api, read, limits);
      const url = model.baseUrl + target.path;
      const headers = providerHeaders(model, request.headers);
      const boundary = createConnectionBoundary({ log, connection: "model provider", fields: { sandboxId } });
      const onBytes = caller.note(visitOf(new URL(url), "model"));
      const options = { timeoutMs: answerTimeoutMs, signal: disconnected, lookup, onBytes, boundary };
      const upstream = openUpstream({ url, method: target.method, headers, body, ...options });
      await upstream.sent;
      return { model, upstream, count };
    } catch (error) {
      await count?.cancel();
      throw error;
    }

    async function readBody(api: ModelApi) {
      const options = { shape: REQUEST_SHAPES[api], policy, slot, maxBytes: maxBodyBytes, timeoutMs: bodyTimeoutMs, turn };
      return readRequestBody(request, options);
    }
  }

  // Streams the answer, and records its tokens before the caller sees its end.
  async function sendAnswer({ model, upstream, count }: Exchange, response: ServerResponse, disconnected: AbortSignal): Promise<void> {
    const { provider } = model;
    let meter: UsageMeter | undefined;
    let isComplete = false;
    let isFree = false;
    try {
      const answer = await upstream.answer;
      const { statusCode: status } = answer;
      isFree = status >= 300;
      if (status === 401 || status === 403) log.error("model.key_refused", { provider, status });
      if (status >= 400) await sendProviderError(answer, response, model.apiKey);
      else await streamAnswer(answer, response, { provider, turn }, (created) => (meter = created));
      isComplete = true;
    } finally {
      // A request without an answer is free too, unless the caller disconnected before it came.
      if (isFree || (meter === undefined && !disconnected.aborted)) await count?.cancel();
      else await count?.settle(meter, disconnected.aborted ? "disconnected" : isComplete ? "complete" : "broken");
    }
    response.end();
  }

  async function checkCap({ sessionId }: ModelUser, { tokenCap }: ModelConfig): Promise<void> {
    if (tokenCap === null) return;
    const { input, output } = await modelUsageOf(store.db, sessionId);
    if (input + output >= tokenCap) throw tokensExhausted();
  }
}

const NO_BODY: RequestBody = { bytes: Buffer.alloc(0), parts: new Map(), promptTokens: 0 };

interface RelayedRequest {
  user: ModelUser;
  model: ModelConfig;
  policy: RequestPolicy;
  target: ProviderTarget;
  request: IncomingMessage;
  caller: RelayCaller;
  disconnected: AbortSignal;
}

interface Exchange {
  model: ModelConfig;
  upstream: Upstream;
  // null: the request is free.
  count: UsageCount | null;
}
