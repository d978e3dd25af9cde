import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, isAbsolute } from "node:path";
import type { ConversationItem } from "@berth/contract/agent.ts";
import type { LiveConversation } from "./conversations/conversation.ts";

// Files that the agent reads and writes through us instead of by itself. It is no way around the sandbox: the agent runs as
// the same user. What it writes is shown as a difference in the item of the tool at work.

const MAX_READ_BYTES = 10 * 1024 * 1024;
const MAX_DIFF = 512 * 1024;

export interface FilePart {
  path: string;
  // From 1.
  line?: number | null;
  limit?: number | null;
}

export async function readForAgent({ path, line, limit }: FilePart): Promise<string> {
  demandAbsolute(path);
  const stats = await stat(path);
  // A pipe would never end, and a huge file would take the daemon with it.
  if (!stats.isFile()) throw new Error(`${path} is not a file`);
  if (stats.size > MAX_READ_BYTES) throw new Error(`${path} is larger than ${MAX_READ_BYTES} bytes`);
  const text = await readFile(path, "utf8");
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
  demandAbsolute(path);
  const before = await readSmall(path);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  if (conversation && before !== undefined && content.length <= MAX_DIFF) noteDiff(conversation, workspace, path, before, content);
}

// As the protocol does. opencode also asks us to write what it has just patched, under a path that is relative to the root;
// in any folder of ours that would be another file.
function demandAbsolute(path: string): void {
  if (!isAbsolute(path)) throw new Error(`The path must be absolute: ${path}`);
}

// null when there is no such file, undefined when it is nothing to show.
async function readSmall(path: string): Promise<string | null | undefined> {
  try {
    const stats = await stat(path);
    return stats.isFile() && stats.size <= MAX_DIFF ? await readFile(path, "utf8") : undefined;
  } catch {
    return null;
  }
}

function noteDiff(conversation: LiveConversation, workspace: string, path: string, oldText: string | null, newText: string): void {
  const item = [...conversation.items.values()].findLast(isAtWork);
  if (item?.kind !== "tool") return;
  const shown = path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;
  // Written twice by one tool: the difference is from before the first time.
  const first = item.content.find((part) => part.type === "diff" && part.path === shown);
  const diff = { type: "diff" as const, path: shown, oldText: first?.type === "diff" ? first.oldText : oldText, newText };
  conversation.replace({ ...item, content: [...item.content.filter((part) => part !== first), diff] });
}

const isAtWork = (item: ConversationItem) => item.kind === "tool" && (item.status === "pending" || item.status === "running");
