import type { GitBranch, SwitchBranch } from "@berth/contract/git.ts";
import type { GitProcess } from "./process/git-process.ts";

const MAX_BRANCHES = 500;
// A switch writes files.
const SWITCH_TIMEOUT_MS = 25_000;

export async function listBranches(git: GitProcess, repository: string): Promise<GitBranch[]> {
  const format = "--format=%(HEAD)%00%(refname)%00%(symref)";
  const list = async (refs: string) => {
    const args = ["for-each-ref", "--sort=-committerdate", `--count=${MAX_BRANCHES}`, format, refs];
    return (await git.read(repository, args)).stdout.toString().split("\n");
  };
  const lines = await Promise.all([list("refs/heads"), list("refs/remotes")]);
  return lines.flat().flatMap((line) => {
    const [mark, ref = "", symbolic = ""] = line.split("\0");
    const [, kind, name] = /^refs\/(heads|remotes)\/(.+)$/.exec(ref) ?? [];
    // A symbolic name such as origin/HEAD stands for another branch of the list.
    return name === undefined || symbolic !== "" ? [] : [{ name, remote: kind === "remotes", current: mark === "*" }];
  });
}

export async function switchBranch(git: GitProcess, repository: string, { branch, create, from }: SwitchBranch): Promise<void> {
  const start = from === undefined ? [] : [from];
  await git.write(repository, create ? ["switch", "-c", branch, ...start] : ["switch", branch], { timeoutMs: SWITCH_TIMEOUT_MS });
}
