import { type ErrorCode, ERRORS } from "@berth/contract/errors.ts";

// Why the model did not answer, for callers (`code`) and for people (`text`).
export interface ModelFault {
  code: Extract<ErrorCode, `model_${string}`>;
  text: string;
  atMs: number;
}

// `status` is null if the connection broke. `body` is the text of the error, from the server's relay or from the provider.
export function modelFault(status: number | null, body: string): ModelFault {
  const { code, message } = parseError(body);
  return { ...describe(status, code, message), atMs: Date.now() };
}

function describe(status: number | null, code: string, message: string): Omit<ModelFault, "atMs"> {
  if (status === 401 || status === 403) return { code: "model_key_refused", text: ERRORS.model_key_refused.message };
  // Anthropic has no code for it.
  if (code === "context_length_exceeded" || CONTEXT_FULL.test(message))
    return { code: "model_context_full", text: ERRORS.model_context_full.message };
  // The server's relay sends this code with 400, providers with other statuses.
  if (code === "insufficient_quota" || status === 402)
    return { code: "model_quota", text: status === 400 ? `${message}.` : ERRORS.model_quota.message };
  if (status === 429) return { code: "model_rate_limited", text: ERRORS.model_rate_limited.message };
  if (status === null || code === "model_unreachable") return { code: "model_unreachable", text: ERRORS.model_unreachable.message };
  if (status >= 500 || status === 408) return { code: "model_unavailable", text: ERRORS.model_unavailable.message };
  const reason = message === "" ? `status ${status}` : withoutRelayAddresses(message).slice(0, MAX_REASON);
  return { code: "model_refused", text: `The model refused the request: ${reason}` };
}

const CONTEXT_FULL = /prompt is too long|maximum context length|context (length|window|size)|too many tokens/i;
const MAX_REASON = 500;

function parseError(body: string): { code: string; message: string } {
  try {
    const { response, ...rest } = JSON.parse(body) as Record<string, unknown>;
    const { error, message, detail } = { ...rest, ...(response as object) } as Record<string, unknown>;
    const inner = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
    const texts = [inner["message"], error, message, detail];
    return { code: textIn(inner["code"]) || textIn(inner["type"]), message: textIn(texts.find((each) => typeof each === "string")) };
  } catch {
    return { code: "", message: "" };
  }
}

const textIn = (value: unknown) => (typeof value === "string" ? value : "");

// Agents name the addresses of relays in their errors. They exist only in the sandbox, so a person cannot open them. An error about a
// connection has only the port, which is that of the forwarder.
export function withoutRelayAddresses(text: string, port: number | null = null): string {
  const named = text.replace(RELAY_ADDRESS, (_address, relay: string) => `the ${relay}`);
  return port === null ? named : named.replace(new RegExp(`(?:https?://)?${LOOPBACK}:${port}(?!\\d)${PATH}`, "g"), "the model");
}

const LOOPBACK = String.raw`(?:127\.0\.0\.1|localhost|\[::1\])`;
const PATH = "(?:/[^\\s)\\]}>\"'`]*[^\\s)\\]}>\"'`.,:;]|/)?";
const RELAY_ADDRESS = new RegExp(`https?://${LOOPBACK}:\\d+(?=/(model|relay)/[^\\s])${PATH}`, "g");
