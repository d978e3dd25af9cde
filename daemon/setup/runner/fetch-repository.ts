import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SetupRepository } from "@berth/contract/daemon-internal.ts";
import { explainGit, isLostConnection } from "./explain-git.ts";
import { UnknownRef } from "./git-errors.ts";
import { runGit } from "./run-git.ts";
import { print } from "../../io/print.ts";

// Fetches a repository into the workspace. Unlike `git clone`, this works in a folder that has files, and continues after an
// interruption. A failure has a reason for people.
export async function fetchRepository(repository: SetupRepository, workspace: string): Promise<{ folder: string } | { reason: string }> {
  const folder = join(workspace, repository.path ?? "");
  for (const pauseMs of [...PAUSES_MS, null]) {
    try {
      mkdirSync(folder, { recursive: true });
      await fetchInto(folder, repository);
      return { folder };
    } catch (error) {
      if (pauseMs === null || !isLostConnection(error)) return { reason: explainGit(error, repository) };
      print(`The connection was lost. Trying again in ${pauseMs / 1000} seconds.`);
      await delay(pauseMs);
    }
  }
  throw new Error("The last try returns");
}

// The pauses after a lost connection: Berth's server may be restarting.
const PAUSES_MS = [2_000, 4_000, 8_000, 16_000, 30_000];

async function fetchInto(folder: string, { url, ref, depth, submodules }: SetupRepository): Promise<void> {
  const git = (...args: string[]) => runGit(args, folder);
  await git("init", "--quiet");
  const known = await git("remote");
  await git("remote", ...(known.split("\n").includes("origin") ? ["set-url"] : ["add"]), "--", "origin", url);
  const target = chooseTarget(await git("ls-remote", "--symref", "--", "origin"), ref);
  if (target === null) return print("The repository is empty.");
  const depthArgs = depth === undefined ? [] : ["--depth", String(depth)];
  await git("fetch", "--progress", ...depthArgs, "--", "origin", ...refspecs(target, depth !== undefined));
  if ("branch" in target) await git("checkout", "--progress", "-B", target.branch, "--track", `refs/remotes/origin/${target.branch}`);
  else await git("checkout", "--progress", "--detach", "tag" in target ? `refs/tags/${target.tag}` : target.commit);
  if (submodules) await git("submodule", "update", "--init", "--recursive", "--progress", ...depthArgs);
}

export type Target = { branch: string } | { tag: string } | { commit: string };

// The target for a ref, by what the remote has. null: the remote has nothing yet.
export function chooseTarget(listed: string, ref: string | undefined): Target | null {
  const lines = listed.split("\n").map((line) => line.split("\t"));
  const names = new Set(lines.map(([, name]) => name));
  if (ref === undefined) {
    const head = lines.find(([value, name]) => name === "HEAD" && value?.startsWith("ref: refs/heads/"))?.[0];
    if (head) return { branch: head.slice("ref: refs/heads/".length) };
    const commit = lines.find(([, name]) => name === "HEAD")?.[0];
    return commit ? { commit } : null;
  }
  if (names.has(`refs/heads/${ref}`)) return { branch: ref };
  if (names.has(`refs/tags/${ref}`)) return { tag: ref };
  if (/^[0-9a-f]{40}$/.test(ref)) return { commit: ref };
  throw new UnknownRef(ref);
}

// With a depth, it fetches only what is checked out.
function refspecs(target: Target, isShallow: boolean): string[] {
  if ("branch" in target && isShallow) return [`+refs/heads/${target.branch}:refs/remotes/origin/${target.branch}`];
  const all = isShallow ? [] : ["+refs/heads/*:refs/remotes/origin/*"];
  if ("branch" in target) return all;
  return "tag" in target ? [...all, `+refs/tags/${target.tag}:refs/tags/${target.tag}`] : [...all, target.commit];
}
