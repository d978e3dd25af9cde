import type { Run, RunPermissions } from "@berth/contract/daemon/runs.ts";
import { AppError } from "@berth/contract/errors.ts";
import { requiredText } from "../../http/body.ts";
import { badRequest } from "../../http/errors.ts";
import type { Environment } from "../../programs/environment.ts";
import { parseRule } from "../../programs/permission-rule.ts";
import { chooseAgent, usesModelRelay } from "../program/availability.ts";
import type { RunPrompt, RunRecord } from "./run-record.ts";

const MAX_SHOWN_PROMPT = 2000;
const MAX_RULES = 100;

// A run as the server asks for it. Restrictions that the agent would not keep are refused.
export function parseRun(id: string, body: Record<string, unknown>, prompt: RunPrompt, environment: Environment): RunRecord {
  const { conversationId, mode, model, permissions = "ask", maxTurns, maxTokens, timeoutMs } = body;
  const run: Run = {
    runId: id,
    conversationId: optionalText(conversationId, "conversationId"),
    status: "queued",
    reason: null,
    code: null,
    message: null,
    prompt: prompt.text.slice(0, MAX_SHOWN_PROMPT),
    permissions: parsePermissions(permissions),
    mode: optionalText(mode, "mode"),
    model: optionalText(model, "model"),
    maxTurns: limit(maxTurns, "maxTurns"),
    maxTokens: limit(maxTokens, "maxTokens"),
    timeoutMs: limit(timeoutMs, "timeoutMs"),
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
    revision: 1,
  };
  const { askingModes } = chooseAgent(environment) ?? {};
  if (run.mode !== null && run.permissions !== "allow" && askingModes && !askingModes.includes(run.mode))
    throw new AppError("run_never_asks", {
      message: `The agent does not ask for permission in the mode ${run.mode}. Choose ${askingModes.join(" or ")}, or the permissions "allow".`,
    });
  if ((run.maxTurns !== null || run.maxTokens !== null) && !usesModelRelay(environment)) throw new AppError("run_limits_unsupported");
  return { run, waiting: [prompt], messageIds: [], promptIds: [], news: null };
}

function parsePermissions(permissions: unknown): RunPermissions {
  if (permissions === "ask" || permissions === "allow") return permissions;
  if (!Array.isArray(permissions) || permissions.length > MAX_RULES)
    throw badRequest(`permissions must be ask, allow or an array of at most ${MAX_RULES} rules`);
  return permissions.map(parseRule);
}

const optionalText = (value: unknown, name: string): string | null => (value === undefined ? null : requiredText(value, name));

function limit(value: unknown, name: string): number | null {
  if (value === undefined) return null;
  if (!Number.isSafeInteger(value) || (value as number) < 1) throw badRequest(`${name} must be an integer from 1`);
  return value as number;
}
