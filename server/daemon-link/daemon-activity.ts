import type { SandboxId } from "@berth/contract";
import type { DaemonActivity } from "@berth/contract/daemon-internal.ts";
import type { DaemonLinks } from "./daemon-links.ts";
import { readResponseText } from "./link-errors.ts";

const UNKNOWN: DaemonActivity = { agentIdleMs: null, cpuMs: null, memoryBytes: null, diskBytes: null };

// The daemon's report about its sandbox. A figure that it does not know is null; if it does not answer, all are. Code in the sandbox may
// pretend to be the daemon, so a number is certain to be a safe integer of at least 0, and nothing more.
export async function readDaemonActivity(
  links: Pick<DaemonLinks, "request">,
  sandboxId: SandboxId,
  timeoutMs: number,
): Promise<DaemonActivity> {
  try {
    const response = await links.request(sandboxId, {
      method: "GET",
      path: "/internal/activity",
      headersTimeoutMs: timeoutMs,
      bodyTimeoutMs: timeoutMs,
    });
    const text = await readResponseText(response.body);
    const said = (response.status === 200 ? JSON.parse(text) : null) as Partial<Record<keyof DaemonActivity, unknown>> | null;
    return {
      agentIdleMs: toAmount(said?.agentIdleMs),
      cpuMs: toAmount(said?.cpuMs),
      memoryBytes: toAmount(said?.memoryBytes),
      diskBytes: toAmount(said?.diskBytes),
    };
  } catch {
    return UNKNOWN;
  }
}

const toAmount = (value: unknown): number | null =>
  typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) : null;
