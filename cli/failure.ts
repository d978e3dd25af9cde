import { isAppError } from "@berth/contract";
import { ConfigError } from "@berth/server/config/config.ts";
import { escapeControls } from "./terminal/escape-controls.ts";
import { style } from "./terminal/style.ts";

// Prints an error as sentences, without a stack trace. Returns the exit code.
export function reportFailure(error: unknown, options: { json: boolean }): number {
  const sentences = sentencesOf(error);
  if (options.json) process.stderr.write(`${escapeControls(JSON.stringify({ error: sentences.join("\n") }))}\n`);
  else for (const sentence of sentences) process.stderr.write(`${style.red("berth:")} ${escapeControls(sentence)}\n`);
  return 1;
}

function sentencesOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.faults;
  if (!(error instanceof Error)) return [String(error)];
  // Partners do not see the cause, but operators need it.
  if (isAppError(error, "store_unavailable") && error.cause instanceof Error) return [`${error.message}: ${error.cause.message}`];
  const { code, syscall, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === "EADDRINUSE" && syscall === "listen")
    return [`Port ${port} on ${address} is already in use. Stop the program that listens there, or set BERTH_PORT to another port.`];
  if (code === "EACCES" && syscall === "listen")
    return [`Port ${port} on ${address} needs more privileges than this user has. Set BERTH_PORT to a port above 1023.`];
  return error.message.split("\n");
}
