import { AppError, type SandboxId } from "@berth/contract";
import type { Readable } from "node:stream";
import { MAX_BUILD_BYTES, type BuildNews, type SetupReport, type SetupRequest } from "@berth/contract/daemon-internal.ts";
import { boundStream } from "../../bounded-io/bound-stream.ts";
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
  // The archive of the files for a build, of a bounded size.
  openBuild(sandboxId: SandboxId, signal: AbortSignal): Promise<Readable>;
  sendBuildNews(sandboxId: SandboxId, news: BuildNews, signal: AbortSignal): Promise<void>;
}

const ANSWER_TIMEOUT_MS = 30 * SECOND;

export function createSetupLink(links: Pick<DaemonLinks, "request">): SetupLink {
  async function call(sandboxId: SandboxId, method: "GET" | "POST", subpath: string, body: object | null, signal: AbortSignal) {
    const response = await links.request(sandboxId, {
      method,
      path: `/internal/setup${subpath}`,
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
    async openBuild(sandboxId, signal) {
      const path = "/internal/setup/build";
      const { status, body } = await links.request(sandboxId, { method: "GET", path, bodyTimeoutMs: ANSWER_TIMEOUT_MS, signal });
      if (status === 200) return boundStream(body, MAX_BUILD_BYTES, () => unusable("it sends more files than a build may have"));
      body.destroy();
      throw unusable(`it answered ${status}`);
    },
    async sendBuildNews(sandboxId, news, signal) {
      await call(sandboxId, "POST", "/build", news, signal);
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

const STATUSES: (SetupReport["status"] | undefined)[] = ["source", "image", "build", "command", "done", "failed"];

const unusable = (reason: string) => new AppError("sandbox_unreachable", { cause: new Error(`The setup cannot be followed: ${reason}`) });
