import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { Readable } from "node:stream";
import type { SandboxId } from "@berth/contract";
import type { OutboxEntry, RunNews } from "@berth/contract/daemon-internal.ts";
import type { Run, StartRun } from "@berth/contract/daemon/runs.ts";
import type { DaemonLinks, LinkRequest, LinkResponse } from "../../daemon-link/daemon-links.ts";

// A daemon's runs that do what a test says, in front of real daemons without an agent.
export interface ScriptedRuns {
  wrapLinks(links: DaemonLinks): DaemonLinks;
  // The calls that arrived: the method, the path below /internal/runs, and the body.
  calls: { method: string; path: string; body: Record<string, unknown> | null }[];
  // The next answer to such a call, instead of the usual one.
  answerNext(matches: RegExp, answer: Answer): void;
  // The run as the daemon has it, and what it reports next.
  run(id: string): Run;
  report(id: string, type: RunNews, changes: object, options?: { entryId?: string; sandboxId?: SandboxId }): string;
  // Entries that are not removed yet.
  entries(): unknown[];
  addEntry(sandboxId: SandboxId, entry: unknown): void;
  forget(id: string): void;
}

export type Answer = { status: number; code?: string; body?: unknown } | (() => Promise<void>);

export function scriptRuns(): ScriptedRuns {
  const runs = new Map<string, { sandboxId: SandboxId; run: Run }>();
  const outbox: { sandboxId: SandboxId; entry: unknown }[] = [];
  const news = new EventEmitter().setMaxListeners(0);
  const calls: ScriptedRuns["calls"] = [];
  const answers: { matches: RegExp; answer: Answer }[] = [];

  function find(id: string): Run {
    const found = runs.get(id);
    if (!found) throw new Error(`The daemon does not know ${id}`);
    return found.run;
  }

  async function handle(sandboxId: SandboxId, { method, path, body }: LinkRequest): Promise<LinkResponse> {
    const rest = path.slice("/internal/runs".length);
    const parsed = typeof body === "string" ? (JSON.parse(body) as Record<string, unknown>) : null;
    calls.push({ method, path: rest, body: parsed });
    const next = answers.findIndex(({ matches }) => matches.test(`${method} ${rest}`));
    const [special] = next >= 0 ? answers.splice(next, 1) : [];
    if (typeof special?.answer === "function") await special.answer();
    else if (special) return respond(special.answer.status, special.answer.body ?? { error: "Refused" }, special.answer.code);
    if (rest === "") {
      const { id, run } = parsed as { id: string; run: StartRun };
      const isKnown = runs.has(id);
      if (!isKnown) runs.set(id, { sandboxId, run: newRun(id, run) });
      return respond(isKnown ? 200 : 201, find(id));
    }
    const [, id = "", action] = rest.split("/");
    if (!runs.has(id)) return respond(404, { error: "Not found" }, "not_found");
    return action === undefined ? respond(200, find(id)) : respond(204, null);
  }

  async function readOutbox(sandboxId: SandboxId, { method, path, body, signal }: LinkRequest): Promise<LinkResponse> {
    const own = () => outbox.filter((one) => one.sandboxId === sandboxId).map(({ entry }) => entry);
    if (method === "POST") {
      const { recorded } = JSON.parse(body as string) as { recorded: string[] };
      for (const id of recorded)
        outbox.splice(
          outbox.findIndex(({ entry }) => (entry as OutboxEntry | null)?.id === id),
          1,
        );
      return respond(204, null);
    }
    if (own().length === 0 && !path.endsWith("waitMs=0"))
      await once(news, "entry", signal instanceof AbortSignal ? { signal } : {}).catch(() => {});
    return respond(200, { entries: own().slice(0, 32), open: 1 });
  }

  const addEntry = (sandboxId: SandboxId, entry: unknown) => {
    outbox.push({ sandboxId, entry });
    news.emit("entry");
  };

  return {
    calls,
    wrapLinks: (links) => ({
      ...links,
      request(sandboxId, request) {
        if (request.path.startsWith("/internal/runs")) return handle(sandboxId, request);
        return request.path.startsWith("/internal/outbox") ? readOutbox(sandboxId, request) : links.request(sandboxId, request);
      },
    }),
    answerNext: (matches, answer) => void answers.push({ matches, answer }),
    run: find,
    report(id, type, changes, { entryId = randomBytes(12).toString("hex"), sandboxId } = {}) {
      const run = find(id);
      Object.assign(run, { revision: run.revision + 1, ...changes });
      addEntry(sandboxId ?? runs.get(id)!.sandboxId, { id: entryId, type, at: new Date().toISOString(), data: { ...run } });
      return entryId;
    },
    entries: () => outbox.map(({ entry }) => entry),
    addEntry,
    forget: (id) => void runs.delete(id),
  };
}

function respond(status: number, body: unknown, code?: string): LinkResponse {
  const text = body === null ? "" : JSON.stringify(body);
  return { status, headers: code ? { "x-error-code": code } : {}, body: Readable.from([Buffer.from(text)]), trailers: {} };
}

const newRun = (runId: string, { prompt, conversationId, permissions = "ask" }: StartRun): Run => ({
  runId,
  conversationId: conversationId ?? null,
  status: "queued",
  reason: null,
  code: null,
  message: null,
  prompt,
  permissions,
  mode: null,
  model: null,
  maxTurns: null,
  maxTokens: null,
  timeoutMs: null,
  text: "",
  files: [],
  fileCount: 0,
  turns: 0,
  tokens: null,
  cost: null,
  waitsFor: [],
  waitingMessages: 0,
  createdAt: new Date().toISOString(),
  startedAt: null,
  endedAt: null,
  revision: 0,
});
