import type { ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { ToolItem } from "@berth/contract/agent.ts";
import { fieldOf } from "./touched-paths.ts";

export type ToolKind = ToolItem["toolKind"];

const TOOL_KINDS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch"] as const;

// goose does not name the kind of a tool. Its title begins with the tool's name, and those of other extensions begin with the extension's.
export function toolKindOf(kind: string | null | undefined, { title, rawInput }: Pick<ToolCallUpdate, "title" | "rawInput">): ToolKind {
  const known = TOOL_KINDS.find((name) => name === kind);
  if (known || kind === "switch_mode") return known ?? "other";
  if (fieldOf(rawInput, "command") !== undefined) return "execute";
  return /^(write|edit)( · |$)/.test(title ?? "") ? "edit" : "other";
}
