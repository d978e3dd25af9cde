import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ChangesItem, ConversationItem, FileChange } from "@berth/contract/agent.ts";
import { type Checkpoints, count, type Difference } from "../checkpoints/checkpoints.ts";
import { type LiveConversation, newItemId } from "../conversations/conversation.ts";
import type { TurnChanges } from "../thread.ts";
import { describeFile } from "./file-change.ts";

export interface TurnChangesDeps {
  checkpoints: Checkpoints;
  live: LiveConversation;
  // The prompt, which comes before all items of the turn.
  promptId: string;
  // The id of the checkpoint before the turn.
  before: string;
  // Whether a turn of another conversation ran at the same time.
  isShared: () => boolean;
}

type Changes = Omit<ChangesItem, "kind">;

const MAX_FILES = 200;
const MAX_CHARACTERS = 512 * 1024;
const NAMED = 3;
// A large workspace takes a while to compare. Nine tenths of the time it is left alone.
const PAUSE_FACTOR = 9;
const MIN_PAUSE_MS = 500;

export function trackTurn({ checkpoints, live, promptId, before, isShared }: TurnChangesDeps): TurnChanges {
  const saved = new Set<string>();
  const over = new AbortController();
  const itemId = newItemId();
  let isShown = false;
  let refreshing: Promise<void> | null = null;
  let isStale = false;

  return {
    refresh,
    noteSave: (path) => void saved.add(path),
    async finish() {
      over.abort();
      await refreshing;
      const changes = await finalChanges();
      if (isShown || changes.files.length > 0 || changes.note !== undefined) live.replace(itemOf(changes));
    },
  };

  async function finalChanges(): Promise<Changes> {
    const unknown = (reason: string) => ({
      before,
      after: null,
      files: [],
      note: `The changes of this turn are not known. ${reason}`.trim(),
    });
    try {
      const { id, note = "" } = await checkpoints.take();
      const found = id === null ? null : await checkpoints.between(before, id);
      return found === null ? unknown(note) : await describe(found, id);
    } catch (error) {
      console.error("The changes of a turn could not be found:", error);
      return unknown("The files could not be compared.");
    }
  }

  function refresh(): void {
    isStale = true;
    refreshing ??= showSoFar().finally(() => (refreshing = null));
  }

  async function showSoFar(): Promise<void> {
    while (isStale && !over.signal.aborted) {
      isStale = false;
      const startMs = performance.now();
      try {
        const found = await checkpoints.since(before);
        if (found !== null && (found.length > 0 || isShown)) {
          live.preview(itemOf(await describe(found, null)));
          isShown = true;
        }
      } catch (error) {
        console.error("The changes of a turn could not be found:", error);
      }
      const pauseMs = Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * (performance.now() - startMs));
      // The end of the turn ends the pause.
      await delay(pauseMs, undefined, { signal: over.signal }).catch(() => {});
    }
  }

  async function describe(found: Difference[], after: string | null): Promise<Changes> {
    const differences = withoutImpliedFolders(found);
    const budget = { left: MAX_CHARACTERS };
    const files: FileChange[] = [];
    for (const difference of differences.slice(0, MAX_FILES)) {
      const file = await describeFile(checkpoints.objects, difference, budget);
      files.push(saved.has(difference.path) ? { ...file, saved: true } : file);
    }
    const more = differences.length - files.length;
    const uncovered = uncoveredPaths();
    const notes = [
      ...(more > 0 ? [`${count(more, "more file")} changed. Restore brings them back.`] : []),
      ...(uncovered.length > 0
        ? [`Not compared, because they are outside the workspace, ignored by Git or generated: ${named(uncovered)}.`]
        : []),
      ...(isShared() ? ["Another conversation worked at the same time, so some changes may be its own."] : []),
    ];
    return { before, after, files, ...(notes.length > 0 ? { note: notes.join(" ") } : {}) };
  }

  // The files that tools of this turn say they have changed, and that no checkpoint contains.
  function uncoveredPaths(): string[] {
    const items = [...live.items.values()];
    const ofTurn = items.slice(items.findIndex(({ id }) => id === promptId) + 1);
    const paths = ofTurn.flatMap((item) =>
      item.kind === "tool" && !["read", "search", "fetch"].includes(item.toolKind) ? item.locations.map(({ path }) => path) : [],
    );
    return [...new Set(paths)].filter((path) => path.startsWith("/") || !checkpoints.covers(path));
  }

  function itemOf(changes: Changes): ConversationItem {
    return { id: itemId, atMs: Date.now(), kind: "changes", ...changes };
  }
}

// A folder that appears or disappears with a file in it needs no line of its own.
function withoutImpliedFolders(found: Difference[]): Difference[] {
  const parents = new Set<string>();
  for (const { path } of found) for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) parents.add(folder);
  return found.filter(({ path, before, after }) => {
    const isNewOrGone = (before === undefined && after?.kind === "folder") || (before?.kind === "folder" && after === undefined);
    return !isNewOrGone || !parents.has(path);
  });
}

function named(paths: string[]): string {
  const more = paths.length > NAMED ? ` and ${paths.length - NAMED} more` : "";
  return `${paths.slice(0, NAMED).join(", ")}${more}`;
}
