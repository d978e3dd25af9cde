import { isStringArray, isStringRecord } from "../http/body.ts";
import { badRequest } from "../http/errors.ts";
import { inShell } from "./shell.ts";

// A command that a caller wants to run.
export interface WantedProgram {
  // The command as the caller wrote it.
  command: string | string[];
  // With the shell, if it is a text.
  words: string[];
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
}

const MAX_TIMEOUT_MS = 24 * 3600 * 1000;

export function parseProgram({ command, cwd = "", env = {}, timeoutMs = null }: Record<string, unknown>): WantedProgram {
  const given = typeof command === "string" ? [command] : command;
  if (!isStringArray(given) || !given[0] || given.some((word) => word.includes("\0")))
    throw badRequest("command must be a string or an array of strings");
  if (typeof cwd !== "string") throw badRequest("cwd must be a string");
  if (!isStringRecord(env) || Object.entries(env).some((pair) => pair.join("").includes("\0")))
    throw badRequest("env must contain only strings");
  if (timeoutMs !== null && !isTimeout(timeoutMs)) throw badRequest(`timeoutMs must be an integer from 1 to ${MAX_TIMEOUT_MS}`);
  const words = typeof command === "string" ? inShell(command) : given;
  return { command: command as string | string[], words, cwd, env, timeoutMs };
}

const isTimeout = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) <= MAX_TIMEOUT_MS;
