import { AppError, type SandboxId } from "@berth/contract";
import type { SetupReport, SetupRequest } from "@berth/contract/daemon-internal.ts";
import { readResponseText } from "../../daemon-link/link-errors.ts";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import { SECOND } from "../../clock.ts";
import { plainText } from "../../plain-text.ts";

// The daemon's part in the setup of a session. The daemon is untrusted: code in the sandbox may pretend to be the daemon, and then
// only its own session gets a wrong report.
export interface SetupLink {
  begin(sandboxId: SandboxId, request: SetupRequest, signal: AbortSignal): Promise<void>;
  // Waits until the status differs from `seen`, at most for some seconds.
  read(sandboxId: SandboxId, seen: string, signal: AbortSignal): Promise<SetupReport>;
}

const ANSWER_TIMEOUT_MS = 30 * SECOND;

export function createSetupLink(links: Pick<DaemonLinks, "request">): SetupLink {
  async function call(sandboxId: SandboxId, method: "GET" | "POST", query: string, body: object | null, signal: AbortSignal) {
    const response = await links.request(sandboxId, {
      method,
      path: `/internal/setup${query}`,
      headersTimeoutMs: ANSWER_TIMEOUT_MS,
      bodyTimeoutMs: ANSWER_TIMEOUT_MS,
      signal,
      ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    const text = await readResponseText(response.body);
    if (response.status >= 300) throw unusable(`it answered ${response.status}`);
    return text;
  }

  return {
    async begin(sandboxId, request, signal) {
      await call(sandboxId, "POST", "", request, signal);
    },
    async read(sandboxId, seen, signal) {
      return parseReport(await call(sandboxId, "GET", `?seen=${encodeURIComponent(seen)}`, null, signal));
    },
  };
}

function parseReport(text: string): SetupReport {
  const { status, reason, exitCode, image } = JSON.parse(text) as Partial<SetupReport>;
  if (!STATUSES.includes(status)) throw unusable("it reports no status");
  return {
    status: status!,
    ...(typeof image === "string" && { image }),
    reason: typeof reason === "string" ? plainText(reason) : null,
    exitCode: Number.isInteger(exitCode) && Math.abs(exitCode!) < 1000 ? exitCode! : null,
  };
}

const STATUSES: (SetupReport["status"] | undefined)[] = ["source", "image", "command", "done", "failed"];

const unusable = (reason: string) => new AppError("sandbox_unreachable", { cause: new Error(`The setup cannot be followed: ${reason}`) });
