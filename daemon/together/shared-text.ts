import { randomBytes } from "node:crypto";
import { MAX_SHARED_CHARS, MAX_UPDATES_PER_PUSH, type TextUpdate } from "@berth/contract/workspace/together.ts";
import { applyChange } from "./apply-change.ts";

// The order of all changes of one text. Pages rebase their own changes; here they are only checked and numbered.
export interface SharedText {
  // Differs for every text that was ever shared, so that versions of different ones are never mixed up.
  readonly epoch: string;
  readonly version: number;
  readonly text: string;
  // `behind`: `version` is not the latest one. `refused`: the updates are no changes of this text, or make it too large.
  push(version: number, updates: unknown): TextUpdate[] | "behind" | "refused";
  // The updates after a version; null if they are no longer known.
  since(version: number): TextUpdate[] | null;
}

// A page that lacks more than this gets the whole text.
const MAX_LOG_UPDATES = 2000;
const MAX_LOG_CHARS = 500_000;
// A text may grow while it is shared.
const MAX_CHARS = 2 * MAX_SHARED_CHARS;
const CLIENT_ID = /^[\w-]{1,40}$/;

export function createSharedText(initial: string): SharedText {
  const epoch = randomBytes(8).toString("hex");
  let text = initial;
  let version = 0;
  let log: { update: TextUpdate; chars: number }[] = [];
  let logChars = 0;

  function append(updates: TextUpdate[]): void {
    for (const update of updates) {
      const chars = JSON.stringify(update).length;
      log.push({ update, chars });
      logChars += chars;
    }
    version += updates.length;
    let dropped = 0;
    while (log.length - dropped > MAX_LOG_UPDATES || logChars > MAX_LOG_CHARS) logChars -= log[dropped++]?.chars ?? 0;
    if (dropped > 0) log = log.slice(dropped);
  }

  return {
    epoch,
    get version() {
      return version;
    },
    get text() {
      return text;
    },
    push(from, updates) {
      if (!Array.isArray(updates) || updates.length === 0 || updates.length > MAX_UPDATES_PER_PUSH) return "refused";
      if (from !== version) return "behind";
      let next: string | null = text;
      const accepted: TextUpdate[] = [];
      for (const update of updates as (Partial<TextUpdate> | null)[]) {
        if (typeof update?.clientId !== "string" || !CLIENT_ID.test(update.clientId)) return "refused";
        next = applyChange(next, update.changes);
        if (next === null || next.length > MAX_CHARS) return "refused";
        accepted.push({ clientId: update.clientId, changes: update.changes! });
      }
      text = next;
      append(accepted);
      return accepted;
    },
    since(from) {
      const count = version - from;
      if (!Number.isSafeInteger(from) || count < 0 || count > log.length) return null;
      return log.slice(log.length - count).map(({ update }) => update);
    },
  };
}
