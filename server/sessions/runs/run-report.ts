import { isRunId, RUN_REASONS, RUN_STATUSES, type RunId } from "@berth/contract";
import type { RunFile, RunReason, RunStatus } from "@berth/contract/daemon/runs.ts";
import type { RunNews } from "@berth/contract/daemon-internal.ts";
import { plainLines } from "../../plain-text.ts";
import { isFinal, type RunDetails, type RunSummary, type StoredRun } from "../../store/runs/run.ts";
import type { RunChange } from "../../store/runs/write.ts";
import { countOf, idOf, listOf, nameOf, objectOf, oneOf, timeOf } from "../report-fields.ts";
import { questionOf } from "./run-question.ts";

// The daemon's report about a run. The request itself (the prompt, the permissions, the limits) is in the row and not taken from here.
export interface RunReport {
  runId: RunId;
  status: RunStatus;
  revision: number;
  startedAtMs: number | null;
  endedAtMs: number | null;
  summary: Omit<RunSummary, "prompt" | "maxTurns" | "maxTokens" | "timeoutMs">;
  details: Omit<RunDetails, "permissions">;
}

// A daemon's news of a run.
export interface RunChangeNews {
  type: RunNews;
  report: RunReport;
}

const MAX_TEXT = 32 * 1024;
const MAX_FILES = 200;
const MAX_FILES_LENGTH = 64 * 1024;
const MAX_PATH = 1000;
const MAX_QUESTIONS = 20;

// null if it is none.
export function parseReport(data: unknown): RunReport | null {
  const run = objectOf(data);
  if (!run || typeof run.runId !== "string" || !isRunId(run.runId)) return null;
  const status = oneOf(run.status, RUN_STATUSES);
  const revision = countOf(run.revision);
  if (status === null || revision === null) return null;
  const hasEnded = isFinal(status);
  return {
    runId: run.runId,
    status,
    revision,
    startedAtMs: timeOf(run.startedAt),
    endedAtMs: hasEnded ? timeOf(run.endedAt) : null,
    summary: {
      conversationId: idOf(run.conversationId),
      reason: hasEnded ? oneOf<RunReason>(run.reason, RUN_REASONS) : null,
      code: hasEnded && typeof run.code === "string" && /^[a-z_]{1,64}$/.test(run.code) ? run.code : null,
      message: hasEnded ? nameOf(run.message, 300) : null,
      mode: nameOf(run.mode),
      model: nameOf(run.model),
      fileCount: countOf(run.fileCount) ?? 0,
      turns: countOf(run.turns) ?? 0,
      tokens: tokensOf(run.tokens),
      cost: costOf(run.cost),
      waitingMessages: hasEnded ? 0 : (countOf(run.waitingMessages) ?? 0),
    },
    details: {
      text: typeof run.text === "string" ? plainLines(run.text, MAX_TEXT) : "",
      files: filesOf(run.files),
      waitsFor: status === "needs_input" ? listOf(run.waitsFor, MAX_QUESTIONS, questionOf) : [],
    },
  };
}

// The row after the report. Its times are not before the run or in the future.
export function applyReport(run: StoredRun, report: RunReport, nowMs: number): RunChange {
  const within = (ms: number | null, least: number) => (ms === null ? null : Math.min(Math.max(ms, least), nowMs));
  const startedAtMs = run.startedAtMs ?? within(report.startedAtMs, run.createdAtMs);
  const endedAtMs = isFinal(report.status) ? within(report.endedAtMs ?? nowMs, startedAtMs ?? run.createdAtMs) : null;
  return {
    status: report.status,
    revision: report.revision,
    startedAtMs,
    endedAtMs,
    summary: {
      ...run.summary,
      ...report.summary,
      conversationId: report.summary.conversationId ?? run.summary.conversationId,
      mode: report.summary.mode ?? run.summary.mode,
      model: report.summary.model ?? run.summary.model,
    },
    details: { ...run.details, ...report.details },
  };
}

function tokensOf(value: unknown): RunSummary["tokens"] {
  const [input, output] = [countOf(objectOf(value)?.input), countOf(objectOf(value)?.output)];
  return input === null || output === null ? null : { input, output };
}

function costOf(value: unknown): RunSummary["cost"] {
  const { amount, currency } = objectOf(value) ?? {};
  const isCost = typeof amount === "number" && amount >= 0 && amount < 1e9 && typeof currency === "string" && /^[A-Z]{3}$/.test(currency);
  return isCost ? { amount, currency } : null;
}

function filesOf(value: unknown): RunFile[] {
  let length = 0;
  return listOf(value, MAX_FILES, ({ path, kind, linesAdded, linesRemoved }): RunFile | null => {
    const known = oneOf(kind, ["added", "modified", "deleted"]);
    const plain = nameOf(path, MAX_PATH);
    if (known === null || plain === null || (length += plain.length) > MAX_FILES_LENGTH) return null;
    const [added, removed] = [countOf(linesAdded), countOf(linesRemoved)];
    return { path: plain, kind: known, ...(added !== null && { linesAdded: added }), ...(removed !== null && { linesRemoved: removed }) };
  });
}
