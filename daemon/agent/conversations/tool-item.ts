import type { ContentBlock, ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { PlanEntry, ToolContent, ToolItem } from "@berth/contract/agent.ts";
import { showHunks } from "../text-diff/shown-hunks.ts";
import { compareTexts } from "../text-diff/text-change.ts";
import { toolKindOf } from "./tool-kind.ts";
import { fieldOf, touchedPaths } from "./touched-paths.ts";

const MAX_TEXT = 64 * 1024;
const MAX_INPUT = 16 * 1024;
const MAX_DIFF = 512 * 1024;
const MAX_CONTENTS = 50;
const MAX_LOCATIONS = 50;
const MAX_TITLE = 500;

// Updates the item of a tool call with the agent's latest message.
export function toolItem(call: ToolCallUpdate, old: ToolItem | null, workspace: string): ToolItem {
  const status = statusOf(call.status) ?? old?.status ?? "pending";
  const locations = locationsOf(call, old, workspace);
  const title = titleOf(call, old, locations, workspace);
  const content = call.content ? call.content.slice(0, MAX_CONTENTS).flatMap((part) => convert(part, workspace)) : (old?.content ?? []);
  return {
    kind: "tool",
    title,
    toolKind: toolKindOf(call.kind ?? old?.toolKind, { title, rawInput: call.rawInput }),
    status,
    locations,
    content: status === "completed" || status === "failed" ? content.filter(({ type }) => type !== "diff") : content,
    ...inputOf(call.rawInput, old?.input),
  };
}

// The agent's own locations, which may have lines, and the other files that it names.
function locationsOf(call: ToolCallUpdate, old: ToolItem | null, workspace: string): ToolItem["locations"] {
  const named = call.locations?.map(({ path, line }) => ({ path: shorten(path, workspace), ...(line ? { line } : {}) }));
  const locations = named ?? old?.locations ?? [];
  const others = touchedPaths(call).map((path) => shorten(path, workspace));
  const missing = others.filter((path) => !locations.some((location) => location.path === path));
  return [...locations, ...missing.map((path) => ({ path }))].slice(0, MAX_LOCATIONS);
}

// Some agents do not announce a plan, but maintain a to-do list with a tool.
export function planOf({ rawInput }: ToolCallUpdate): PlanEntry[] | null {
  const todos = fieldOf(rawInput, "todos");
  if (!Array.isArray(todos)) return null;
  return todos.flatMap((todo): PlanEntry[] => {
    const text = fieldOf(todo, "content");
    const status = PLAN_STATUSES.find((known) => known === fieldOf(todo, "status")) ?? "pending";
    const priority = PLAN_PRIORITIES.find((known) => known === fieldOf(todo, "priority")) ?? "medium";
    // A cancelled entry is no longer part of the plan.
    return typeof text !== "string" || fieldOf(todo, "status") === "cancelled" ? [] : [{ text, status, priority }];
  });
}

const PLAN_STATUSES = ["pending", "in_progress", "completed"] as const;
const PLAN_PRIORITIES = ["high", "medium", "low"] as const;

export function textOf(content: ContentBlock): string {
  switch (content.type) {
    case "text":
      return content.text;
    case "resource_link":
      return `[${content.name}](${content.uri})`;
    case "resource":
      return "text" in content.resource ? String(content.resource.text) : content.resource.uri;
    default:
      return `[${content.type}]`;
  }
}

function convert(part: ToolCallContent, workspace: string): ToolContent[] {
  if (part.type === "diff") {
    const { oldText, newText } = part;
    const path = shorten(part.path, workspace);
    const tooLarge = (oldText?.length ?? 0) + newText.length > MAX_DIFF;
    const change = tooLarge ? null : compareTexts(oldText == null ? null : Buffer.from(oldText), Buffer.from(newText));
    return change ? [{ type: "diff", path, hunks: showHunks(change, { left: MAX_TEXT }).hunks }] : [];
  }
  if (part.type !== "content") return [];
  const shown = textOf(part.content);
  return shown === "" ? [] : [{ type: "text", text: cut(shown, MAX_TEXT) }];
}

// Makes paths in the title relative to the workspace. Outside a repository, opencode makes them relative to the root
// directory.
function titleOf(call: ToolCallUpdate, old: ToolItem | null, locations: ToolItem["locations"], workspace: string): string {
  const title = call.title ?? old?.title ?? call.name ?? "Tool";
  // opencode's tool `apply_patch` lists the files below a headline.
  if (title.includes("\n") && locations.length > 0)
    return locations
      .map(({ path }) => path)
      .join(", ")
      .slice(0, MAX_TITLE);
  const file = locations.find(({ path }) => title === `${workspace.slice(1)}/${path}`);
  return (file?.path ?? title.replaceAll(`${workspace}/`, "")).slice(0, MAX_TITLE);
}

const shorten = (path: string, workspace: string) => (path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path);

const cut = (text: string, max: number) => (text.length > max ? `${text.slice(0, max)}\n…` : text);

function statusOf(status: string | null | undefined): ToolItem["status"] | undefined {
  if (status === "in_progress") return "running";
  return status === "pending" || status === "completed" || status === "failed" ? status : undefined;
}

function inputOf(raw: unknown, old: string | undefined): { input?: string } {
  if (raw === undefined || raw === null) return old === undefined ? {} : { input: old };
  return { input: cut(JSON.stringify(raw, null, 2), MAX_INPUT) };
}
