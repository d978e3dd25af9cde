import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { Change } from "@berth/contract/agent.ts";
import type { Environment } from "../processes/environment.ts";
import { childProcess } from "../processes/child-process.ts";
import { Fault } from "../http/http.ts";
import { TEMPORARY_PREFIX } from "../files/walk.ts";

// Git, as far as the changes of a session need it. The repository is the workspace itself, or those right below it.
export interface Git {
  // Paths of the repositories, relative to the workspace; "" is the workspace. Empty when there is none.
  repositories(): string[];
  branch(repository: string): Promise<string>;
  changes(repository: string): Promise<Change[]>;
  // The file as of HEAD; null when it was not there.
  original(repository: string, path: string): Promise<Readable | null>;
  // Puts a file that HEAD knows back as it was.
  restore(repository: string, path: string): Promise<void>;
  // Forgets a file that HEAD does not know, should it be in the index.
  forget(repository: string, path: string): Promise<void>;
}

// What HEAD stands for before the first commit.
const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const TIMEOUT_MS = 15_000;
const MAX_OUTPUT = 8 * 1024 * 1024;
const MAX_REPOSITORIES = 20;

export function createGit(root: string, environment: Environment): Git {
  return {
    repositories() {
      if (existsSync(join(root, ".git"))) return [""];
      const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
      return folders
        .map(({ name }) => name)
        .filter((name) => existsSync(join(root, name, ".git")))
        .slice(0, MAX_REPOSITORIES);
    },
    branch: async (repository) => (await run(repository, ["symbolic-ref", "--short", "-q", "HEAD"], [0, 1, 128])).trim() || "detached",
    async changes(repository) {
      const base = await baseOf(repository);
      const [status, lines, untracked] = await Promise.all([
        run(repository, ["diff", "--name-status", "--no-renames", "-z", base]),
        run(repository, ["diff", "--numstat", "--no-renames", "-z", base]),
        run(repository, ["ls-files", "--others", "--exclude-standard", `--exclude=${TEMPORARY_PREFIX}*`, "-z"]),
      ]);
      const counts = parseCounts(lines);
      const tracked = pairs(status).map(([letter, path]): Change => ({ path, kind: kindOf(letter), ...counts.get(path) }));
      const added = split(untracked).map((path): Change => ({ path, kind: "added" }));
      return [...tracked, ...added];
    },
    async original(repository, path) {
      const place = `${await baseOf(repository)}:${path}`;
      if ((await run(repository, ["cat-file", "-t", place], [0, 128])).trim() !== "blob") return null;
      return launch(repository, ["cat-file", "blob", place]).stdout;
    },
    async restore(repository, path) {
      await run(repository, ["restore", `--source=${await baseOf(repository)}`, "--staged", "--worktree", "--", path]);
    },
    async forget(repository, path) {
      await run(repository, ["rm", "--cached", "--quiet", "--ignore-unmatch", "--", path]);
    },
  };

  async function baseOf(repository: string): Promise<string> {
    const head = await run(repository, ["rev-parse", "-q", "--verify", "HEAD"], [0, 1, 128]);
    return head.trim() || EMPTY_TREE;
  }

  function launch(repository: string, args: string[]) {
    // Paths are names, not patterns; nothing asks or waits.
    const fixed = ["--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"];
    const env = environment.forChild({ GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0" });
    const child = childProcess().spawn("git", [...fixed, ...args], {
      cwd: join(root, repository),
      env,
      stdio: ["ignore", "pipe", "ignore"],
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
    });
    child.on("error", () => {});
    return child;
  }

  async function run(repository: string, args: string[], fine = [0]): Promise<string> {
    const child = launch(repository, args);
    const code = new Promise<number | null>((resolve) => {
      child.once("close", resolve);
      child.once("error", () => resolve(null));
    });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_OUTPUT) {
        child.kill("SIGKILL");
        throw new Fault(413, "too_large", "There are too many changes to show");
      }
      chunks.push(chunk);
    }
    const ended = await code;
    if (ended === null || !fine.includes(ended)) throw new Fault(502, "git_failed", `git ${args[0]} failed in this workspace`);
    return ended === 0 ? Buffer.concat(chunks).toString() : "";
  }
}

const split = (text: string) => text.split("\0").filter((part) => part !== "");

function pairs(text: string): [letter: string, path: string][] {
  const parts = split(text);
  return parts.flatMap((part, index) => (index % 2 === 0 ? [[part, parts[index + 1] ?? ""] as [string, string]] : []));
}

function kindOf(letter: string): Change["kind"] {
  if (letter.startsWith("A")) return "added";
  return letter.startsWith("D") ? "deleted" : "modified";
}

function parseCounts(text: string): Map<string, { linesAdded: number; linesDeleted: number }> {
  const counts = new Map<string, { linesAdded: number; linesDeleted: number }>();
  for (const line of split(text)) {
    const [added = "-", deleted = "-", path = ""] = line.split("\t");
    // "-" stands for a file that is not text.
    if (added !== "-") counts.set(path, { linesAdded: Number(added), linesDeleted: Number(deleted) });
  }
  return counts;
}
