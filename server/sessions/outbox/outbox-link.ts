import { AppError, type SandboxId } from "@berth/contract";
import type { OutboxEntry } from "@berth/contract/daemon-internal.ts";
import { SECOND } from "../../clock.ts";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import { readResponseText } from "../../daemon-link/link-errors.ts";
import { parseEnd, type ProcessEnd } from "./process-end.ts";

// The daemon's outbox: what has happened in a sandbox and is not recorded yet. The daemon is untrusted: code in the sandbox may
// pretend to be the daemon, and then only its own session gets wrong events.
export interface OutboxLink {
  // Waits for news, at most for `waitMs`. `open`: whether more is to come.
  read(sandboxId: SandboxId, waitMs: number, signal: AbortSignal): Promise<{ news: News[]; open: boolean }>;
  // They are recorded.
  remove(sandboxId: SandboxId, ids: string[], signal: AbortSignal): Promise<void>;
}

export interface News {
  // Unique in its sandbox.
  id: string;
  // null: this server does not understand it.
  end: ProcessEnd | null;
}

const ANSWER_TIMEOUT_MS = 30 * SECOND;

export function createOutboxLink(links: Pick<DaemonLinks, "request">): OutboxLink {
  async function call(sandboxId: SandboxId, method: "GET" | "POST", query: string, body: object | null, signal: AbortSignal, waitMs = 0) {
    const response = await links.request(sandboxId, {
      method,
      path: `/internal/outbox${query}`,
      headersTimeoutMs: ANSWER_TIMEOUT_MS + waitMs,
      bodyTimeoutMs: ANSWER_TIMEOUT_MS,
      signal,
      ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    const text = await readResponseText(response.body);
    // The daemon of a sandbox that an earlier version has started has no outbox.
    if (response.status === 404) return "";
    if (response.status >= 300)
      throw new AppError("sandbox_unreachable", { cause: new Error(`The outbox cannot be read: the daemon answered ${response.status}`) });
    return text;
  }

  return {
    async read(sandboxId, waitMs, signal) {
      const text = await call(sandboxId, "GET", `?waitMs=${waitMs}`, null, signal, waitMs);
      const { entries, open } = (text === "" ? {} : JSON.parse(text)) as { entries?: OutboxEntry[]; open?: number };
      const known = (Array.isArray(entries) ? entries : []).filter((entry) => typeof entry?.id === "string" && ENTRY_ID.test(entry.id));
      return { news: known.map((entry) => ({ id: entry.id, end: parseEnd(entry) })), open: typeof open === "number" && open > 0 };
    },
    async remove(sandboxId, ids, signal) {
      await call(sandboxId, "POST", "", { recorded: ids }, signal);
    },
  };
}

const ENTRY_ID = /^[0-9a-f]{24}$/;
