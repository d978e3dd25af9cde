import { join } from "node:path";
import type { Readable } from "node:stream";
import type { Change } from "@berth/contract/changes.ts";
import { AppError } from "@berth/contract/errors.ts";
import { TEMPORARY_PREFIX } from "../files/walk.ts";
import { launchGit } from "../git/process/launch-git.ts";
import { createRepositories } from "../git/repositories.ts";
import { readBounded } from "../io/read-bounded.ts";
import type { Environment } from "../programs/environment.ts";

// The git operations that the list of changes needs. A repository is the workspace itself or a folder directly below it.
export interface Git {
  // Paths relative to the workspace; "" is the workspace itself.
  repositories(): string[];
  branch(repository: string): Promise<string>;
  changes(repository: string): Promise<Change[]>;
  // The file at HEAD; null if HEAD does not contain it.
  original(repository: string, path: string): Promise<Readable | null>;
  // Restores a file from HEAD.
  restore(repository: string, path: string): Promise<void>;
  // Removes a file that HEAD does not contain from the index. No-op if it is not there.
  removeFromIndex(repository: string, path: string): Promise<void>;
}

// Stands for HEAD before the first commit.
const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const MAX_OUTPUT = 8 * 1024 * 1024;

export function createGit(root: string, environment: Environment): Git {
  const launch = (repository: string, args: string[]) =>
    launchGit(["--literal-pathspecs", ...args], { cwd: join(root, repository), environment });
  return {
    repositories: createRepositories(root).list,
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
    async removeFromIndex(repository, path) {
      await run(repository, ["rm", "--cached", "--quiet", "--ignore-unmatch", "--", path]);
    },
  };

  async function baseOf(repository: string): Promise<string> {
    const head = await run(repository, ["rev-parse", "-q", "--verify", "HEAD"], [0, 1, 128]);
    return head.trim() || EMPTY_TREE;
  }

  async function run(repository: string, args: string[], expectedCodes = [0]): Promise<string> {
    const child = launch(repository, args);
    const code = new Promise<number | null>((resolve) => {
      child.once("close", resolve);
      child.once("error", () => resolve(null));
    });
    try {
      const output = await readBounded(child.stdout, { maxBytes: MAX_OUTPUT, tooLarge: "There are too many changes to show" });
      const exitCode = await code;
      if (exitCode !== null && expectedCodes.includes(exitCode)) return exitCode === 0 ? output.toString() : "";
    } finally {
      child.kill("SIGKILL");
    }
    throw new AppError("git_failed", { message: `git ${args[0]} failed in this workspace` });
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
    // "-" marks a binary file.
    if (added !== "-") counts.set(path, { linesAdded: Number(added), linesDeleted: Number(deleted) });
  }
  return counts;
}
