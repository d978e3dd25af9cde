import type { ConversationItem } from "@berth/contract/agent.ts";
import type { Run, RunFile } from "@berth/contract/daemon/runs.ts";
import { type QuestionItem, waitingQuestions } from "../questions/questions.ts";
import { ruleTool } from "../rules/tool-facts.ts";
import type { Thread } from "../thread.ts";

const MAX_TEXT = 32 * 1024;
const MAX_FILES = 200;
const MAX_INPUT = 4096;

// The items of a run: each of its prompts, and what follows until the next prompt.
export function runItems({ live }: Thread, promptIds: readonly string[]): ConversationItem[] {
  let isOfRun = false;
  return [...live.items.values()].filter((item) => {
    if (item.kind === "user") isOfRun = promptIds.includes(item.id);
    return isOfRun;
  });
}

// The parts of a run that follow from its conversation.
export function reportOf(items: ConversationItem[]): Pick<Run, "text" | "files" | "fileCount"> {
  const said = items.findLast((item) => item.kind === "assistant");
  const files = changedFiles(items);
  return { text: cut(said?.kind === "assistant" ? said.text : "", MAX_TEXT), files: files.slice(0, MAX_FILES), fileCount: files.length };
}

export function questionsOf(thread: Thread): Run["waitsFor"] {
  return waitingQuestions(thread).map((item) => questionOf(thread, item));
}

function questionOf({ live }: Thread, item: QuestionItem): Run["waitsFor"][number] {
  const head = { itemId: item.id, title: item.title };
  switch (item.kind) {
    case "form":
      return { ...head, kind: "form", fields: item.fields };
    case "url":
      return { ...head, kind: "url", url: item.url };
    case "permission": {
      const tool = live.items.get(item.toolItemId);
      const { toolKind, input } = tool?.kind === "tool" ? tool : { toolKind: "other" as const, input: undefined };
      const kind = ruleTool(toolKind, { hasCommand: /"command"\s*:/.test(input ?? "") });
      const more = input === undefined ? {} : { input: cut(input, MAX_INPUT) };
      return { ...head, kind: "permission", tool: { kind, title: item.title, ...more }, options: item.options };
    }
  }
}

// Over several turns: lines add up, and a file that was added stays so.
function changedFiles(items: ConversationItem[]): RunFile[] {
  const files = new Map<string, RunFile>();
  for (const item of items) {
    if (item.kind !== "changes") continue;
    for (const { path, kind, linesAdded, linesRemoved } of item.files) {
      const before = files.get(path);
      if (before?.kind === "added" && kind === "deleted") {
        files.delete(path);
        continue;
      }
      const sum = (a: number | undefined, b: number | undefined) => (a === undefined || b === undefined ? undefined : a + b);
      const [added, removed] = before
        ? [sum(before.linesAdded, linesAdded), sum(before.linesRemoved, linesRemoved)]
        : [linesAdded, linesRemoved];
      files.set(path, {
        path,
        kind: before?.kind === "added" ? "added" : kind,
        ...(added === undefined || removed === undefined ? {} : { linesAdded: added, linesRemoved: removed }),
      });
    }
  }
  return [...files.values()];
}

const cut = (text: string, max: number) => text.slice(0, max);
