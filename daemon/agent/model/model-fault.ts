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
  const reason = message === "" ? `status ${status}` : withoutModelAddress(message).slice(0, MAX_REASON);
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

// Agents name the address of the relay in their errors. It exists only in the sandbox, so a person cannot open it.
export const withoutModelAddress = (text: string): string => text.replace(MODEL_ADDRESS, "the model");

const MODEL_ADDRESS = /https?:\/\/(?:127\.0\.0\.1|localhost):\d+\/model\/[^\s)\]}>"'`]*[^\s)\]}>"'`.,:;]/g;
