import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { AppError } from "@berth/contract/errors.ts";
import { childProcess } from "../../processes/child-process.ts";
import type { Environment } from "../../processes/environment.ts";
import { upstreamUrls } from "../../io/upstream-urls.ts";
import { preferForOomKill } from "../../processes/oom-score.ts";
import { signalGroup } from "../../processes/signal-group.ts";
import { explainFailure } from "./explain.ts";
import { createSlots } from "./slots.ts";

// Runs the sandbox's git, bounded in time and output. It never prompts: without an answer it would wait forever.
export interface GitProcess {
  // For commands that change nothing. They run no hooks and take no locks.
  read(repository: string, args: string[], options?: GitOptions): Promise<GitOutput>;
  // For commands that change the repository. Hooks run, as in a terminal.
  write(repository: string, args: string[], options?: GitOptions): Promise<GitOutput>;
}

export interface GitOptions {
  stdin?: string | Buffer;
  timeoutMs?: number;
  // The exit codes that are no failure. Default: 0.
  expect?: number[];
  // Longer output is an error, or with `cut` the rest is dropped and git is stopped.
  maxBytes?: number;
  onOverflow?: "fail" | "cut";
  // Called with git's progress.
  onProgress?: (text: string) => void;
  // Stops git.
  signal?: AbortSignal;
}

export interface GitOutput {
  code: number;
  stdout: Buffer;
  stderr: string;
  // Whether the output was cut.
  truncated: boolean;
}

const TIMEOUT_MS = 15_000;
const KILL_AFTER_MS = 2000;
// A hook may leave a process in the background that keeps the output open.
const LINGER_MS = 200;
const MAX_OUTPUT = 8 * 1024 * 1024;
const MAX_STDERR = 64 * 1024;
const READERS = 4;

// Literal paths, real file names, no program of the repository's configuration that watches files.
const FIXED = ["--literal-pathspecs", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"];
const WITHOUT_EFFECTS = ["--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false"];
const ENVIRONMENT = {
  GIT_TERMINAL_PROMPT: "0",
  // Empty: no program is asked for a password, whatever the configuration says.
  GIT_ASKPASS: "",
  SSH_ASKPASS_REQUIRE: "never",
  GCM_INTERACTIVE: "never",
  GIT_EDITOR: ":",
  GIT_MERGE_AUTOEDIT: "no",
  // explain.ts reads the messages.
  LC_ALL: "C.UTF-8",
  LANGUAGE: "en",
};

export function createGitProcess(root: string, environment: Environment): GitProcess {
  const slots = createSlots(READERS);
  return {
    async read(repository, args, options = {}) {
      using _slot = await slots.take();
      const env = environment.forChild({ ...ENVIRONMENT, GIT_OPTIONAL_LOCKS: "0" });
      return await run([...WITHOUT_EFFECTS, ...args], join(root, repository), env, options);
    },
    write: (repository, args, options = {}) => run(args, join(root, repository), environment.forChild(ENVIRONMENT), options),
  };
}

async function run(args: string[], cwd: string, env: Record<string, string>, options: GitOptions): Promise<GitOutput> {
  options.signal?.throwIfAborted();
  const child = childProcess().spawn("git", [...FIXED, ...args], { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  preferForOomKill(child.pid);
  child.stdin.on("error", () => {});
  child.stdin.end(options.stdin ?? "");
  const shown = upstreamUrls(env);
  const ended = await collect(child, { ...options, onProgress: (text) => options.onProgress?.(shown(text)) });
  if (ended.kind === "failed") throw new AppError(ended.code, ended.message === undefined ? {} : { message: ended.message });
  const output = { ...ended.output, stderr: shown(ended.output.stderr) };
  if (output.truncated || (options.expect ?? [0]).includes(output.code)) return output;
  throw explainFailure(output);
}

type Ended =
  | { kind: "ended"; output: GitOutput }
  | { kind: "failed"; code: "git_unavailable" | "git_timeout" | "too_large" | "aborted" | "busy"; message?: string };

function collect(child: ChildProcess, options: GitOptions): Promise<Ended> {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_OUTPUT, onOverflow = "fail", onProgress, signal } = options;
  const chunks: Buffer[] = [];
  let size = 0;
  let stderr = "";
  let stopped: Ended | null = null;
  let truncated = false;

  const stop = (result: Ended | null) => {
    stopped ??= result;
    terminate(child);
  };
  const timer = setTimeout(() => stop({ kind: "failed", code: "git_timeout" }), timeoutMs);
  const abort = () => stop({ kind: "failed", code: "aborted" });
  signal?.addEventListener("abort", abort);
  child.stdout?.on("data", (chunk: Buffer) => {
    if (truncated) return;
    size += chunk.length;
    truncated = size > maxBytes;
    if (!truncated) return void chunks.push(chunk);
    stop(onOverflow === "fail" ? { kind: "failed", code: "too_large", message: "Git has more to report than can be shown" } : null);
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    const text = chunk.toString();
    // The end has the reason.
    stderr = (stderr + text).slice(-MAX_STDERR);
    onProgress?.(text);
  });

  return new Promise<Ended>((resolve) => {
    const finish = (result: Ended) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve(stopped ?? result);
    };
    child.once("error", (error: NodeJS.ErrnoException) =>
      finish({ kind: "failed", code: error.code === "ENOENT" ? "git_unavailable" : "busy" }),
    );
    child.once("exit", (code) => {
      const end = () => finish({ kind: "ended", output: { code: code ?? -1, stdout: Buffer.concat(chunks), stderr, truncated } });
      // On a busy machine the timer may be due before output that has arrived long ago was read, so it waits for that.
      const wait = (seen: number): NodeJS.Timeout =>
        setTimeout(() => setImmediate(() => (size === seen ? end() : (linger = wait(size)))), LINGER_MS);
      let linger = wait(size);
      child.once("close", () => {
        clearTimeout(linger);
        end();
      });
    });
  });
}

// SIGTERM first, so that git removes its lock files.
function terminate(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  signalGroup(pid, "SIGTERM");
  const timer = setTimeout(() => signalGroup(pid, "SIGKILL"), KILL_AFTER_MS);
  child.once("exit", () => clearTimeout(timer));
}
