import type { Run, RunStatus } from "@berth/contract/daemon/runs.ts";
import type { RunNews } from "@berth/contract/daemon-internal.ts";

// A run as it is saved, so that a restarted daemon can say that it is lost, or begin it.
export interface RunRecord {
  run: Run;
  // The prompts that the agent does not have yet. A run that has not begun has at least one.
  waiting: RunPrompt[];
  // The ids of the messages so far.
  messageIds: string[];
  // The items of the conversation with the prompts that the agent has.
  promptIds: string[];
  // The last change, if the outbox may not have it.
  news: RunNews | null;
}

export interface RunPrompt {
  text: string;
  // Lines count from 1.
  files: { path: string; fromLine?: number; toLine?: number }[];
  // The ids of images.
  images: string[];
}

export const RUN_ID = /^run_[0-9a-z]{26}$/;

const STATUSES: readonly RunStatus[] = ["queued", "running", "needs_input", "succeeded", "failed", "interrupted", "lost"];

// The user can write to the file of a record.
export function parseRecord(saved: RunRecord): RunRecord | null {
  const { run, waiting, messageIds, promptIds, news } = saved;
  const isValid =
    RUN_ID.test(run.runId) &&
    STATUSES.includes(run.status) &&
    Number.isSafeInteger(run.revision) &&
    typeof run.createdAt === "string" &&
    [waiting, messageIds, promptIds, run.files, run.waitsFor].every(Array.isArray) &&
    (news === null || typeof news === "string");
  return isValid ? saved : null;
}

export const hasEnded = ({ status }: Run): boolean => status !== "queued" && status !== "running" && status !== "needs_input";
