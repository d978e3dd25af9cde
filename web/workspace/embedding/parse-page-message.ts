import { EMBED_VERSION, type PageMessage } from "@berth/contract/workspace/embed.ts";

const MAX_PATH = 4096;
const THEMES: readonly unknown[] = ["light", "dark", "system"];

// A message of the page around this one, or null if it is not one that we know.
export function parsePageMessage(data: unknown): PageMessage | null {
  if (typeof data !== "object" || data === null) return null;
  const message = data as Record<string, unknown>;
  if (message.berth !== EMBED_VERSION) return null;
  if (message.type === "connect") return { berth: EMBED_VERSION, type: "connect", canResume: message.canResume === true };
  if (message.type === "resume-done") return { berth: EMBED_VERSION, type: "resume-done" };
  if (message.type === "theme" && THEMES.includes(message.theme)) return data as PageMessage;
  if (message.type === "open-file") return parseOpenFile(message);
  return null;
}

function parseOpenFile({ path, line, column }: Record<string, unknown>): PageMessage | null {
  if (typeof path !== "string" || path.length > MAX_PATH) return null;
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length === 0 || parts.includes("..")) return null;
  return {
    berth: EMBED_VERSION,
    type: "open-file",
    path: parts.join("/"),
    ...(isCount(line) && { line }),
    ...(isCount(column) && { column }),
  };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
