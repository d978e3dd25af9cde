import { childProcess } from "../../programs/child-process.ts";
import type { Environment } from "../../programs/environment.ts";

const TIMEOUT_MS = 15_000;
// Starts no program of the repository's configuration that watches files.
const FIXED = ["-c", "core.fsmonitor=false", "-c", "core.quotePath=false"];

// Runs git for a caller that reads its output and bounds it. Git neither prompts nor waits for a lock. It has no output if it cannot be
// started.
export function launchGit(args: string[], { cwd, environment, stdin = "" }: { cwd: string; environment: Environment; stdin?: string }) {
  const git = childProcess().spawn("git", [...FIXED, ...args], {
    cwd,
    env: environment.forChild({ GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0" }),
    stdio: ["pipe", "pipe", "ignore"],
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  git.on("error", () => {});
  // Outside a repository, git exits before it has read its input.
  git.stdin.on("error", () => {});
  git.stdin.end(stdin);
  return git;
}
