import { AppError, type SandboxId } from "@berth/contract";
import type { OutboxEntry, OutboxList, RunNews } from "@berth/contract/daemon-internal.ts";
import { readBody } from "../../bounded-io/read-body.ts";
import { SECOND } from "../../clock.ts";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import { unreachable } from "../../daemon-link/link-errors.ts";
import { isFinal } from "../../store/runs/run.ts";
import { parseReport, type RunChangeNews } from "../runs/run-report.ts";
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
  about: ProcessNews | RunChangeNews | null;
}

export interface ProcessNews {
  type: "process.exited";
  end: ProcessEnd;
}

const ANSWER_TIMEOUT_MS = 30 * SECOND;
// Some reports of runs, each with a text and a list of files.
const MAX_BYTES = 4 * 1024 * 1024;

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
    const text = String(await readBody(response.body, MAX_BYTES, () => unreachable("the outbox is too long")));
    // The daemon of a sandbox that an earlier version has started has no outbox.
    if (response.status === 404) return "";
    if (response.status >= 300)
      throw new AppError("sandbox_unreachable", { cause: new Error(`The outbox cannot be read: the daemon answered ${response.status}`) });
    return text;
  }

  return {
    async read(sandboxId, waitMs, signal) {
      const text = await call(sandboxId, "GET", `?waitMs=${waitMs}`, null, signal, waitMs);
      const { entries, open, left } = (text === "" ? {} : JSON.parse(text)) as Partial<OutboxList>;
      const known = (Array.isArray(entries) ? entries : []).filter((entry) => typeof entry?.id === "string" && ENTRY_ID.test(entry.id));
      const news = known.map((entry) => ({ id: entry.id, about: parseEntry(entry) }));
      return { news, open: isPositive(open) || (left === undefined ? news.length > 0 : isPositive(left)) };
    },
    async remove(sandboxId, ids, signal) {
      await call(sandboxId, "POST", "", { recorded: ids }, signal);
    },
  };
}

// The daemon is untrusted.
const isPositive = (value: unknown): boolean => typeof value === "number" && value > 0;

const ENTRY_ID = /^[0-9a-f]{24}$/;
const RUN_NEWS: readonly string[] = ["run.started", "run.needs_input", "run.continued", "run.finished"] satisfies RunNews[];

function parseEntry(entry: OutboxEntry): News["about"] {
  const { type, data } = entry;
  if (type === "process.exited") {
    const end = parseEnd(data);
    return end && { type, end };
  }
  const report = RUN_NEWS.includes(type) ? parseReport(data) : null;
  return report && isFinal(report.status) === (type === "run.finished") ? { type, report } : null;
}
