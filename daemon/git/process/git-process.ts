import { join } from "node:path";
import { AppError } from "@berth/contract/errors.ts";
import type { Environment } from "../../programs/environment.ts";
import { upstreamUrls } from "../../io/upstream-urls.ts";
import { onceOver, type Program, startProgram, stopProgram } from "../../programs/program.ts";
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
  const program = startProgram(["git", ...FIXED, ...args], { cwd, env });
  program.stdin.end(options.stdin ?? "");
  const shown = upstreamUrls(env);
  const ended = await collect(program, { ...options, onProgress: (text) => options.onProgress?.(shown(text)) });
  if (ended.kind === "failed") throw new AppError(ended.code, ended.message === undefined ? {} : { message: ended.message });
  const output = { ...ended.output, stderr: shown(ended.output.stderr) };
  if (output.truncated || (options.expect ?? [0]).includes(output.code)) return output;
  throw explainFailure(output);
}

type Ended =
  | { kind: "ended"; output: GitOutput }
  | { kind: "failed"; code: "git_unavailable" | "git_timeout" | "too_large" | "aborted" | "busy"; message?: string };

function collect(program: Program, options: GitOptions): Promise<Ended> {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_OUTPUT, onOverflow = "fail", onProgress, signal } = options;
  const chunks: Buffer[] = [];
  let size = 0;
  let stderr = "";
  let stopped: Ended | null = null;
  let truncated = false;

  const stop = (result: Ended | null) => {
    stopped ??= result;
    stopProgram(program);
  };
  const timer = setTimeout(() => stop({ kind: "failed", code: "git_timeout" }), timeoutMs);
  const abort = () => stop({ kind: "failed", code: "aborted" });
  signal?.addEventListener("abort", abort);
  program.stdout.on("data", (chunk: Buffer) => {
    if (truncated) return;
    size += chunk.length;
    truncated = size > maxBytes;
    if (!truncated) return void chunks.push(chunk);
    stop(onOverflow === "fail" ? { kind: "failed", code: "too_large", message: "Git has more to report than can be shown" } : null);
  });
  program.stderr.on("data", (chunk: Buffer) => {
    const text = chunk.toString();
    // The end has the reason.
    stderr = (stderr + text).slice(-MAX_STDERR);
    onProgress?.(text);
  });

  return new Promise<Ended>((resolve) => {
    const finish = (result: Ended) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      resolve(stopped ?? result);
    };
    program.once("error", (error: NodeJS.ErrnoException) =>
      finish({ kind: "failed", code: error.code === "ENOENT" ? "git_unavailable" : "busy" }),
    );
    onceOver(program, () =>
      finish({ kind: "ended", output: { code: program.exitCode ?? -1, stdout: Buffer.concat(chunks), stderr, truncated } }),
    );
  });
}
