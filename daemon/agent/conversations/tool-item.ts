import type { ContentBlock, ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { PlanEntry, ToolContent, ToolItem } from "@berth/contract/agent.ts";
import { fieldOf, type FileEdit, opencodeEdits } from "./opencode-edits.ts";

const MAX_TEXT = 64 * 1024;
const MAX_INPUT = 16 * 1024;
const MAX_DIFF = 512 * 1024;
const MAX_CONTENTS = 50;
const MAX_LOCATIONS = 50;
const MAX_TITLE = 500;

// Updates the item of a tool call with the agent's latest message.
export function toolItem(call: ToolCallUpdate, old: ToolItem | null, workspace: string): ToolItem {
  const edits = opencodeEdits(call);
  const content = mergeContent(old?.content ?? [], call.content, workspace);
  const locations = locationsOf(call, workspace) ?? old?.locations ?? [];
  return {
    kind: "tool",
    title:
      edits.length > 0
        ? edits
            .map(({ path }) => shorten(path, workspace))
            .join(", ")
            .slice(0, MAX_TITLE)
        : titleOf(call, old, locations, workspace),
    toolKind: toolKindOf(call.kind ?? old?.toolKind),
    status: statusOf(call.status) ?? old?.status ?? "pending",
    locations,
    content: withEdits(content, edits, workspace),
    ...inputOf(call.rawInput, old?.input),
  };
}

function locationsOf({ locations }: ToolCallUpdate, workspace: string): ToolItem["locations"] | undefined {
  return locations?.slice(0, MAX_LOCATIONS).map(({ path, line }) => ({ path: shorten(path, workspace), ...(line ? { line } : {}) }));
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

// Keeps the diffs of writes through the daemon (agent-files.ts) when the agent sends its own content.
function mergeContent(old: ToolContent[], content: ToolCallContent[] | null | undefined, workspace: string): ToolContent[] {
  if (!content) return old;
  const fresh = content.slice(0, MAX_CONTENTS).flatMap((part) => convert(part, workspace));
  const replaced = pathsIn(fresh);
  return [...old.filter((part) => part.type === "diff" && !replaced.has(part.path)), ...fresh];
}

// An existing diff covers the whole file, so it takes precedence.
function withEdits(content: ToolContent[], edits: FileEdit[], workspace: string): ToolContent[] {
  const shown = pathsIn(content);
  const missing = edits.filter(({ path }) => !shown.has(shorten(path, workspace))).slice(0, MAX_CONTENTS);
  return [...content, ...missing.flatMap((edit) => convert({ type: "diff", ...edit }, workspace))];
}

const pathsIn = (content: ToolContent[]) => new Set(content.flatMap((part) => (part.type === "diff" ? [part.path] : [])));

function convert(part: ToolCallContent, workspace: string): ToolContent[] {
  if (part.type === "diff") {
    const { oldText = null, newText } = part;
    const path = shorten(part.path, workspace);
    const tooLarge = (oldText?.length ?? 0) + newText.length > MAX_DIFF;
    return [tooLarge ? { type: "text", text: `${path} has changed (too large to show)` } : { type: "diff", path, oldText, newText }];
  }
  if (part.type !== "content") return [];
  const shown = textOf(part.content);
  return shown === "" ? [] : [{ type: "text", text: cut(shown, MAX_TEXT) }];
}

// Makes paths in the title relative to the workspace. Outside a repository, opencode makes them relative to the root
// directory.
function titleOf(call: ToolCallUpdate, old: ToolItem | null, locations: ToolItem["locations"], workspace: string): string {
  const title = call.title ?? old?.title ?? call.name ?? "Tool";
  const file = locations.find(({ path }) => title === `${workspace.slice(1)}/${path}`);
  return (file?.path ?? title.replaceAll(`${workspace}/`, "")).slice(0, MAX_TITLE);
}

const shorten = (path: string, workspace: string) => (path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path);

const cut = (text: string, max: number) => (text.length > max ? `${text.slice(0, max)}\n…` : text);

function statusOf(status: string | null | undefined): ToolItem["status"] | undefined {
  if (status === "in_progress") return "running";
  return status === "pending" || status === "completed" || status === "failed" ? status : undefined;
}

const TOOL_KINDS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch"] as const;
const toolKindOf = (kind: string | undefined): ToolItem["toolKind"] => TOOL_KINDS.find((known) => known === kind) ?? "other";

function inputOf(raw: unknown, old: string | undefined): { input?: string } {
  if (raw === undefined || raw === null) return old === undefined ? {} : { input: old };
  return { input: cut(JSON.stringify(raw, null, 2), MAX_INPUT) };
}
