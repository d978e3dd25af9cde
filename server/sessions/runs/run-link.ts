import { AppError, ERRORS, type ErrorCode, type RunId, type SandboxId } from "@berth/contract";
import type { RunAnswer, StartRun } from "@berth/contract/daemon/runs.ts";
import { readBody } from "../../bounded-io/read-body.ts";
import { SECOND } from "../../clock.ts";
import type { DaemonLinks, LinkResponse } from "../../daemon-link/daemon-links.ts";
import { unreachable } from "../../daemon-link/link-errors.ts";
import { plainText } from "../../plain-text.ts";
import { parseReport, type RunReport } from "./run-report.ts";

// The daemon's runs (contract/daemon/runs.ts). The daemon is untrusted: code in the sandbox may pretend to be the daemon, and then only
// its own session gets wrong reports. A refusal of the daemon is thrown as an AppError with its code.
export interface RunLink {
  // Idempotent: a run that the daemon knows does not start again.
  start(sandboxId: SandboxId, id: RunId, run: StartRun, signal: AbortSignal): Promise<void>;
  // null: the daemon does not know it.
  read(sandboxId: SandboxId, id: RunId): Promise<RunReport | null>;
  // A message with an id that the daemon has seen is ignored.
  message(sandboxId: SandboxId, id: RunId, message: LinkMessage): Promise<void>;
  // No-op if the run is over or unknown.
  interrupt(sandboxId: SandboxId, id: RunId, signal?: AbortSignal): Promise<void>;
  answer(sandboxId: SandboxId, id: RunId, answer: RunAnswer): Promise<void>;
}

export type LinkMessage = Pick<StartRun, "prompt" | "attachments"> & { id: string };

export const eventsPath = (id: RunId) => `/internal/runs/${id}/events`;

const ANSWER_TIMEOUT_MS = 15 * SECOND;
// A caller waits for it, and gets an older report if it takes longer.
const READ_TIMEOUT_MS = 2 * SECOND;
const MAX_BYTES = 2 * 1024 * 1024;

export function createRunLink(links: Pick<DaemonLinks, "request">): RunLink {
  async function call(sandboxId: SandboxId, { method, path, body, signal, timeoutMs = ANSWER_TIMEOUT_MS }: Call): Promise<string> {
    const response = await links.request(sandboxId, {
      method,
      path: `/internal/runs${path}`,
      headersTimeoutMs: timeoutMs,
      bodyTimeoutMs: timeoutMs,
      ...(signal && { signal }),
      ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    const text = String(await readBody(response.body, MAX_BYTES, () => unreachable("the response is too long")));
    if (response.status >= 300) throw refusal(response, text);
    return text;
  }
  const post = async (sandboxId: SandboxId, path: string, body: object, signal?: AbortSignal) =>
    void (await call(sandboxId, { method: "POST", path, body, ...(signal && { signal }) }));
  const unlessUnknown = (error: unknown) => {
    if ((error as AppError).status !== 404) throw error;
    return null;
  };

  return {
    start: (sandboxId, id, run, signal) => post(sandboxId, "", { id, run }, signal),
    async read(sandboxId, id) {
      const text = await call(sandboxId, { method: "GET", path: `/${id}`, timeoutMs: READ_TIMEOUT_MS }).catch(unlessUnknown);
      if (text === null) return null;
      const report = parseReport(parseJson(text));
      if (report?.runId !== id) throw unreachable("it reports no run");
      return report;
    },
    message: (sandboxId, id, message) => post(sandboxId, `/${id}/messages`, message),
    interrupt: async (sandboxId, id, signal) => void (await post(sandboxId, `/${id}/interrupt`, {}, signal).catch(unlessUnknown)),
    answer: (sandboxId, id, answer) => post(sandboxId, `/${id}/answer`, answer),
  };
}

interface Call {
  method: "GET" | "POST";
  path: string;
  body?: object;
  signal?: AbortSignal;
  timeoutMs?: number;
}

// Only codes whose status the daemon sends too, so that it cannot pretend that the caller's key is invalid.
function refusal({ status, headers }: LinkResponse, text: string): AppError {
  const code = headers["x-error-code"] as ErrorCode;
  if (!Object.hasOwn(ERRORS, code) || ERRORS[code].status !== status || status === 401) return unreachable(`it answered ${status}`);
  const message = (parseJson(text) as { error?: unknown } | null)?.error;
  return new AppError(code, typeof message === "string" ? { message: plainText(message) } : {});
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
