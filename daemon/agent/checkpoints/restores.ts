import { AppError } from "@berth/contract/errors.ts";
import { notFound } from "../../http/errors.ts";
import type { Thread } from "../thread.ts";
import { type Checkpoints, count } from "./checkpoints.ts";
import type { Restored } from "./restore.ts";

// Restores the checkpoints of a conversation's items.
export interface Restores {
  restore(thread: Thread, itemId: string): Promise<void>;
}

export interface RestoresDeps {
  checkpoints: Checkpoints;
  // Whether a turn is in progress in any conversation. It would change the files at the same time.
  isBusy: () => boolean;
}

const NAMED = 3;

export function createRestores({ checkpoints, isBusy }: RestoresDeps): Restores {
  return {
    async restore(thread, itemId) {
      const item = thread.live.items.get(itemId);
      const id = item?.kind === "user" || item?.kind === "restore" ? item.checkpoint?.id : null;
      if (!id) throw notFound("There is no checkpoint before this message");
      if (isBusy()) throw new AppError("agent_busy", { message: "The agent is still working. Stop it first" });
      const { before, ...restored } = await checkpoints.restore(id);
      thread.live.add({ kind: "restore", text: describe(restored), checkpoint: before });
      // The agent remembers the files as it has left them.
      thread.note =
        "Note: the user has restored the files of the workspace to an earlier state, so they may differ from what you have written or read. Read a file again before you change it.";
    },
  };
}

export function describe({ written, removed, folders, left }: Restored): string {
  const done = [
    ...(written.length > 0 ? [`restored ${count(written.length, "file")}`] : []),
    ...(removed.length > 0 ? [`removed ${count(removed.length, "new file")}`] : []),
    ...(folders.length > 0 ? [`restored the permissions of ${count(folders.length, "folder")}`] : []),
  ].join(" and ");
  const sentence = done === "" ? "No file was different." : `${done[0]?.toUpperCase()}${done.slice(1)}.`;
  if (left.length === 0) return sentence;
  const more = left.length > NAMED ? ` and ${left.length - NAMED} more` : "";
  return `${sentence} Left as they are, because they are too large or cannot be replaced: ${left.slice(0, NAMED).join(", ")}${more}.`;
}
