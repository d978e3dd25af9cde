import { spawn } from "node:child_process";
import { upstreamUrls } from "../../io/upstream-urls.ts";
import { GitFailure, GitMissing } from "./git-errors.ts";
import { printCommand } from "../../io/print.ts";

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
  const shown = upstreamUrls(process.env);
  let errors = "";
  let unfinished = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output.push(chunk);
    if (!isQuiet) process.stdout.write(chunk);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    // Whole lines, so that no address is split. A line of the progress ends with a carriage return.
    const text = unfinished + String(chunk);
    const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
    unfinished = text.slice(end);
    showErrors(text.slice(0, end));
  });
  const showErrors = (text: string) => {
    errors = (errors + shown(text)).slice(-MAX_KEPT);
    process.stderr.write(shown(text));
  };
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => reject(error.code === "ENOENT" ? new GitMissing() : error));
    child.once("close", resolve);
  });
  showErrors(unfinished);
  if (code !== 0) throw new GitFailure(errors);
  return Buffer.concat(output).toString();
}
