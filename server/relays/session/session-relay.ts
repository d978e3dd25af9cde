import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { SandboxId, Template } from "@berth/contract";
import { discardUnreadBody } from "@berth/contract/forwarding/forwarding.ts";
import { createFairShare } from "../../fairness/fair-share.ts";
import { createConnectionBoundary } from "../../faults/connection-boundary.ts";
import { limitBytes } from "../../forwarding/limit-bytes.ts";
import { sendRefusal } from "../../forwarding/send-refusal.ts";
import { sendUpstream } from "../../forwarding/send-upstream.ts";
import type { Log } from "../../log.ts";
import { MCP_RELAY_PREFIX } from "../../mcp-servers.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import type { RelayCaller } from "../../forwarding/relay-caller.ts";
import type { Relay } from "../relays.ts";
import { createSandboxTokens } from "../sandbox-tokens.ts";
import { gitTarget } from "./git-target.ts";
import { answerHeaders, upstreamHeaders } from "./relay-headers.ts";
import { explainGitAnswer, locationFor } from "./relay-answer.ts";
import { RelayRefusal } from "./relay-refusal.ts";
import { relayTarget, type RelayTarget } from "./relay-target.ts";
import { connectUpstream, type DialUpstream } from "./upstream-connection.ts";

// The relays of sessions and templates: `/relay/{token}/{name}/…` on a sandbox's egress proxy reaches the relay's upstream, with a
// header that only the server knows. The relay `git` is that of the session's repository.
export interface SessionRelays extends Relay {
  // The settings with which programs in the sandbox use its relays.
  access(sandboxId: SandboxId, template: Template, relays: readonly NamedUpstream[]): RelayAccess;
}

export interface RelayAccess {
  env: Record<string, string>;
  gitConfig: [key: string, value: string][];
  // The address of a relay in the sandbox.
  urlOf(name: string): string;
}

interface NamedUpstream {
  name: string;
  upstream: string;
}

export interface UpstreamRelay extends NamedUpstream {
  header: string;
  // Secret.
  value: string;
  // Its name in metrics. Partners choose the names of their own relays, so those share one.
  label: string;
}

export interface FoundRelays {
  // null: the sandbox has no session yet.
  partnerId: string | null;
  relays: readonly UpstreamRelay[];
}

// A request of a sandbox that a relay has passed on or refused.
export interface RelayedRequest {
  partnerId: string | null;
  // `git`, the name of a template's relay, or `session` for all that partners name.
  relay: string;
  outcome: "passed_on" | "refused";
  sentBytes: number;
  receivedBytes: number;
}

export interface SessionRelaysDeps {
  // The relays of a sandbox: its session's and its template's.
  find(sandboxId: SandboxId): Promise<FoundRelays>;
  // Counts requests, for the metrics.
  onRelayed?(request: RelayedRequest): void;
  dial: DialUpstream;
  secrets: Secrets;
  log: Log;
  // The longest silence of an upstream.
  idleTimeoutMs?: number;
  // In one request, in each direction.
  maxBytes?: number;
}

// The daemon listens at this address in every sandbox and forwards to the egress proxy.
const RELAY_URL = "http://127.0.0.1:3128/relay";
const PATH = /^\/relay\/([\w-]{1,64})\/([A-Za-z0-9_]{1,32})(?=[/?]|$)/;
const MAX_CONCURRENT = 32;
const MINUTE_MS = 60_000;
const GIB = 1024 ** 3;
const GIT = "git";

export function createSessionRelays(deps: SessionRelaysDeps): SessionRelays {
  const { find, onRelayed = () => {}, dial, secrets, log, idleTimeoutMs = 5 * MINUTE_MS, maxBytes = 8 * GIB } = deps;
  const tokens = createSandboxTokens(secrets, "relay");
  const slots = createFairShare<SandboxId>({ maxPerHolder: MAX_CONCURRENT });
  const tooLarge = () => new RelayRefusal(413, "The transfer is too large.");
  const byteLimit = { maxBytes, tooLarge, cut: () => new Error("The connection was closed") };

  async function relay(request: IncomingMessage, response: ServerResponse, caller: RelayCaller): Promise<void> {
    const [prefix = "", token = "", name = ""] = PATH.exec(request.url ?? "") ?? [];
    if (prefix === "" || !tokens.check(caller.sandboxId, token)) throw new RelayRefusal(403, "This address is not valid in this sandbox.");
    using slot = slots.take(caller.sandboxId);
    if (!slot) throw new RelayRefusal(429, "Too many requests of this sandbox are relayed at once. Try again in a moment.");
    const { partnerId, relays } = await find(caller.sandboxId);
    const found = relays.find((one) => one.name === name);
    if (!found) throw new RelayRefusal(404, `This sandbox has no relay ${name}.`);
    const rest = (request.url ?? "").slice(prefix.length);
    const counted: RelayedRequest = { partnerId, relay: found.label, outcome: "refused", sentBytes: 0, receivedBytes: 0 };
    try {
      const target = name === GIT ? gitTarget(found.upstream, request.method, rest) : relayTarget(found.upstream, request.method, rest);
      await exchange({ request, response, caller, found, target, prefix, counted });
    } finally {
      onRelayed(counted);
    }
  }

  async function exchange({ request, response, caller, found, target, prefix, counted }: Exchange): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const boundary = createConnectionBoundary({ log, connection: "relay upstream", fields: { sandboxId: caller.sandboxId } });
    const socket = await connectUpstream({ url: target.url, name: found.name, dial, boundary, caller, signal: gone.signal });
    try {
      if (request.headers.expect !== undefined) response.writeContinue();
      const headers = upstreamHeaders(request, target, found);
      const body = limitBytes(request, { ...byteLimit, onBytes: (bytes) => (counted.sentBytes += bytes) });
      socket.setTimeout(idleTimeoutMs, () => socket.destroy());
      const path = `${target.url.pathname}${target.url.search}`;
      const answer = await sendUpstream({ request, body, socket, path, headers, boundary }).catch((error: unknown) => {
        throw error instanceof RelayRefusal ? error : new RelayRefusal(502, `${target.url.host} closed the connection.`);
      });
      if (found.name === GIT) explainGitAnswer(answer);
      counted.outcome = "passed_on";
      response.writeHead(answer.statusCode, answerHeaders(answer, locationFor(answer, found.upstream, target, prefix)));
      // A stream of events may begin with a silence.
      response.flushHeaders();
      await pipeline(limitBytes(answer, { ...byteLimit, onBytes: (bytes) => (counted.receivedBytes += bytes) }), response);
    } finally {
      socket.destroy();
      discardUnreadBody(request);
    }
  }

  return {
    prefix: "relay",
    handle(request, response, caller) {
      const { sandboxId } = caller;
      response.on("error", () => {});
      relay(request, response, caller).catch((error: unknown) => {
        const refusal = error instanceof RelayRefusal ? error : new RelayRefusal(502, "The connection to the server was lost.");
        if (!response.writableFinished) log.warn("relay.refused", { sandboxId, relay: nameIn(request), reason: refusal.message });
        sendRefusal(response, refusal.status, refusal.message);
      });
    },
    access(sandboxId, template, relays) {
      const all = [...(template.relays ?? []), ...relays];
      const urlOf = (name: string) => `${RELAY_URL}/${tokens.issue(sandboxId)}/${name}`;
      const git = all.find(({ name }) => name === GIT);
      const others = all.filter(({ name }) => name !== GIT && !name.startsWith(MCP_RELAY_PREFIX));
      return {
        env: Object.fromEntries(others.map(({ name }) => [`BERTH_RELAY_${name}`, urlOf(name)])),
        urlOf,
        gitConfig: git ? [[`url.${urlOf(GIT)}/repository.insteadOf`, git.upstream.replace(/\/+$/, "")]] : [],
      };
    },
  };
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  caller: RelayCaller;
  found: UpstreamRelay;
  target: RelayTarget;
  // The part of the path that stands for the upstream.
  prefix: string;
  counted: RelayedRequest;
}

const nameIn = ({ url = "" }: IncomingMessage) => PATH.exec(url)?.[2] ?? null;
