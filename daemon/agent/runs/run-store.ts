import { createHash } from "node:crypto";
import type { Run } from "@berth/contract/daemon/runs.ts";
import type { RunNews } from "@berth/contract/daemon-internal.ts";
import { openSavedRecords } from "../../io/saved-records.ts";
import type { Outbox } from "../../processes/outbox.ts";
import { hasEnded, parseRecord, type RunRecord } from "./run-record.ts";

// The runs of the session, in memory and on disk. Every change is saved and then reported to the server.
export interface RunStore {
  find(id: string): RunRecord | undefined;
  list(): RunRecord[];
  // Throws if it cannot be saved.
  add(record: RunRecord): void;
  change(record: RunRecord, change: Partial<Run>, news: RunNews | null): void;
  save(record: RunRecord): void;
  // Those that have not ended.
  countOpen(): number;
  // Loads the runs from before the daemon was stopped. Those that had begun are lost.
  load(): void;
  // The sandbox is about to stop. What works now does not come back.
  loseBegun(): void;
}

const MAX_ENDED = 100;

export function createRunStore({ folder, outbox }: { folder: string; outbox: Pick<Outbox, "add"> }): RunStore {
  const records = new Map<string, RunRecord>();
  const saved = openSavedRecords(folder, parseRecord);

  return {
    find: (id) => records.get(id),
    list: () => [...records.values()],
    add(record) {
      saved.save(record.run.runId, record);
      records.set(record.run.runId, record);
    },
    change,
    save,
    countOpen: () => [...records.values()].filter(({ run }) => !hasEnded(run)).length,
    load() {
      for (const record of saved.load().toSorted((a, b) => (a.run.createdAt < b.run.createdAt ? -1 : 1))) {
        records.set(record.run.runId, record);
        // The daemon was killed between the change and its report.
        if (record.news && hasEnded(record.run)) report(record, record.news);
      }
      loseBegun();
      forgetOld();
    },
    loseBegun,
  };

  function loseBegun(): void {
    for (const record of records.values()) {
      if (hasEnded(record.run) || record.run.status === "queued") continue;
      const message = "The sandbox was stopped while the run worked. What the agent has done so far is in its conversation.";
      record.waiting = [];
      change(record, { status: "lost", message, waitsFor: [], waitingMessages: 0, endedAt: new Date().toISOString() }, "run.finished");
    }
  }

  function change(record: RunRecord, changed: Partial<Run>, news: RunNews | null): void {
    Object.assign(record.run, changed, { revision: record.run.revision + 1 });
    record.news = news;
    save(record);
    if (news) report(record, news);
    if (hasEnded(record.run)) forgetOld();
  }

  // The id is the same if a change is reported again.
  function report(record: RunRecord, news: RunNews): void {
    const { runId, revision } = record.run;
    const id = createHash("sha256").update(`${runId} ${revision}`).digest("hex").slice(0, 24);
    outbox.add({ id, type: news, data: { ...record.run } });
    record.news = null;
    if (hasEnded(record.run)) save(record);
  }

  function save(record: RunRecord): void {
    try {
      saved.save(record.run.runId, record);
    } catch (error) {
      // On a full disk a restarted daemon knows less about the run, but the run goes on.
      console.error("A run could not be saved:", error);
    }
  }

  function forgetOld(): void {
    const ended = [...records.values()].filter(({ run }) => hasEnded(run));
    for (const { run } of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) {
      records.delete(run.runId);
      saved.remove(run.runId);
    }
  }
}
