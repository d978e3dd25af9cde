import type { AgentCommand, ConversationItem, FileChange } from "@berth/contract/agent.ts";
import { AppError } from "@berth/contract/errors.ts";
import type { WorkspaceFolder } from "../../files/workspace-folder.ts";
import { badRequest, notFound } from "../../http/errors.ts";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import type { Thread } from "../thread.ts";
import { revertPath } from "./revert-path.ts";

export type Review = Extract<AgentCommand, { type: "review" }>;

// People's decisions about the changes of a turn. A rejected hunk returns to its state before the turn.
export interface Reviews {
  review(thread: Thread, review: Review): Promise<void>;
}

export interface ReviewsDeps {
  workspace: WorkspaceFolder;
  checkpoints: Checkpoints;
  // Whether a turn is in progress in any conversation. It would change the files at the same time.
  isBusy: () => boolean;
}

export function createReviews({ workspace, checkpoints, isBusy }: ReviewsDeps): Reviews {
  let working: Promise<unknown> = Promise.resolve();

  return {
    // Decisions are handled one at a time, because each depends on those before.
    review(thread, given) {
      const result = working.then(() => review(thread, given));
      working = result.catch(() => {});
      return result;
    },
  };

  async function review(thread: Thread, { itemId, path, hunks, decision }: Review): Promise<void> {
    if (!["accepted", "rejected", "undecided"].includes(decision)) throw badRequest("decision must be accepted, rejected or undecided");
    const item = thread.live.items.get(itemId);
    const file = item?.kind === "changes" ? item.files.find((each) => each.path === path) : undefined;
    if (item?.kind !== "changes" || !file) throw notFound("There is no such change");
    if (item.after === null) throw new AppError("agent_busy", { message: "The agent is still working. Decide when it is done" });
    const chosen = chosenHunks(file, hunks);
    const decisions = file.hunks.map((hunk, index) => (chosen.has(index) ? decision : (hunk.decision ?? "undecided")));
    const rejected = (all: string[]) => new Set(all.flatMap((each, index) => (each === "rejected" ? index : [])));
    const revision = { reverted: rejected(file.hunks.map((hunk) => hunk.decision ?? "undecided")), wanted: rejected(decisions) };
    if (file.hunks.some((_hunk, index) => revision.reverted.has(index) !== revision.wanted.has(index))) {
      if (isBusy()) throw new AppError("agent_busy", { message: "The agent is still working. Stop it first" });
      const differences = await checkpoints.between(item.before, item.after);
      if (differences === null) throw notFound("This change is too old: the files of before it are no longer kept");
      await revertPath({ workspace, objects: checkpoints.objects, differences, path, revision });
      // The agent remembers the files as it has left them.
      thread.note =
        "Note: the user has rejected some of your changes, so files may differ from what you have written. Read a file again before you change it.";
    }
    const reviewed = file.hunks.map(({ decision: _before, ...hunk }, index) => {
      const decided = decisions[index];
      return decided === undefined || decided === "undecided" ? hunk : { ...hunk, decision: decided };
    });
    // The item may have been replaced in the meantime.
    const latest = thread.live.items.get(itemId);
    if (latest?.kind !== "changes") return;
    const files = latest.files.map((each) => (each.path === path ? { ...each, hunks: reviewed } : each));
    thread.live.replace({ ...latest, files } as ConversationItem);
  }
}

// Without a choice, all that are undecided.
function chosenHunks({ hunks }: FileChange, given: unknown): Set<number> {
  if (given === undefined) return new Set(hunks.flatMap((hunk, index) => (hunk.decision === undefined ? index : [])));
  const isHunk = (index: unknown): index is number => typeof index === "number" && hunks[index] !== undefined;
  if (!Array.isArray(given) || !given.every(isHunk)) throw badRequest("hunks must be an array of indexes");
  return new Set(given);
}
