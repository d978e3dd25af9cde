import { spawn } from "node:child_process";
import { GitFailure, GitMissing } from "./git-errors.ts";
import { printCommand } from "./print.ts";

const MAX_KEPT = 16 * 1024;
// Their output is for this program, not for people.
const QUIET = new Set(["init", "remote", "ls-remote"]);

// Runs git with its output in the terminal, and returns its stdout. It never asks for a password.
export async function runGit(args: string[], folder: string): Promise<string> {
  const isQuiet = QUIET.has(args[0] ?? "");
  if (!isQuiet) printCommand(["git", ...args]);
  const child = spawn("git", args, {
    cwd: folder,
    env: { ...process.env, GIT_TERMINAL_PROMPT: "0", LC_ALL: "C.UTF-8" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output: Buffer[] = [];
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output.push(chunk);
    if (!isQuiet) process.stdout.write(chunk);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + String(chunk)).slice(-MAX_KEPT);
    process.stderr.write(chunk);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => reject(error.code === "ENOENT" ? new GitMissing() : error));
    child.once("close", resolve);
  });
  if (code !== 0) throw new GitFailure(errors);
  return Buffer.concat(output).toString();
}
