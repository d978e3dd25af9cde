import { isAppError } from "@berth/contract";
import { ConfigError } from "@berth/server/config/config.ts";
import { escapeControls } from "./terminal/escape-controls.ts";
import { style } from "./terminal/style.ts";

// Says what went wrong in sentences, never as a stack; gives the exit code.
export function reportFailure(error: unknown, asJson: boolean): number {
  const sentences = sentencesOf(error);
  if (asJson) process.stderr.write(`${escapeControls(JSON.stringify({ error: sentences.join("\n") }))}\n`);
  else for (const sentence of sentences) process.stderr.write(`${style.red("berth:")} ${escapeControls(sentence)}\n`);
  return 1;
}

function sentencesOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.faults;
  if (!(error instanceof Error)) return [String(error)];
  // An operator needs to know why; a partner does not.
  if (isAppError(error, "store_unavailable") && error.cause instanceof Error) return [`${error.message}: ${error.cause.message}`];
  const { code, syscall, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === "EADDRINUSE" && syscall === "listen")
    return [`Port ${port} on ${address} is taken; stop what listens there, or set BERTH_PORT to another.`];
  if (code === "EACCES" && syscall === "listen")
    return [`Port ${port} on ${address} may not be used by this user; set BERTH_PORT to one above 1023.`];
  return error.message.split("\n");
}
