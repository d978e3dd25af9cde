import { mkdir, writeFile } from "node:fs/promises";
import { dirname, isAbsolute } from "node:path";
import type { ConversationItem } from "@berth/contract/agent.ts";
import { readSmallFile } from "../io/small-file.ts";
import type { LiveConversation } from "./conversations/conversation.ts";

// Reads and writes files for the agent, over the Agent Client Protocol. The agent gains no permissions by this, because it
// runs as the same user. A write appears as a diff in the item of the running tool.

const MAX_READ_BYTES = 10 * 1024 * 1024;
const MAX_DIFF = 512 * 1024;

export interface FilePart {
  path: string;
  // Counts from 1.
  line?: number | null;
  limit?: number | null;
}

export async function readForAgent({ path, line, limit }: FilePart): Promise<string> {
  requireAbsolute(path);
  const bytes = await readSmallFile(path, MAX_READ_BYTES);
  if (bytes === "not_a_file") throw new Error(`${path} is not a file`);
  if (bytes === "too_large") throw new Error(`${path} is larger than ${MAX_READ_BYTES} bytes`);
  const text = bytes.toString();
  if (line == null && limit == null) return text;
  const from = Math.max(0, (line ?? 1) - 1);
  return text
    .split("\n")
    .slice(from, limit == null ? undefined : from + limit)
    .join("\n");
}

export async function writeForAgent(
  workspace: string,
  path: string,
  content: string,
  conversation: LiveConversation | undefined,
): Promise<void> {
  requireAbsolute(path);
  const before = await readForDiff(path);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  if (conversation && before !== undefined && content.length <= MAX_DIFF) addDiff(conversation, workspace, path, before, content);
}

// The protocol requires absolute paths. opencode also asks for a write of each file that it has patched, with a path relative
// to the root directory. Resolved against any other folder, that would be a different file.
function requireAbsolute(path: string): void {
  if (!isAbsolute(path)) throw new Error(`The path must be absolute: ${path}`);
}

// null if the file does not exist, undefined if it cannot be shown as a diff.
async function readForDiff(path: string): Promise<string | null | undefined> {
  try {
    const bytes = await readSmallFile(path, MAX_DIFF);
    return typeof bytes === "string" ? undefined : bytes.toString();
  } catch {
    return null;
  }
}

function addDiff(conversation: LiveConversation, workspace: string, path: string, oldText: string | null, newText: string): void {
  const item = [...conversation.items.values()].findLast(isRunningTool);
  if (item?.kind !== "tool") return;
  const shown = path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;
  // If the tool has written this file before, the diff starts at the text before its first write.
  const first = item.content.find((part) => part.type === "diff" && part.path === shown);
  const diff = { type: "diff" as const, path: shown, oldText: first?.type === "diff" ? first.oldText : oldText, newText };
  conversation.replace({ ...item, content: [...item.content.filter((part) => part !== first), diff] });
}

const isRunningTool = (item: ConversationItem) => item.kind === "tool" && (item.status === "pending" || item.status === "running");
