import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ContentBlock, PromptCapabilities } from "@agentclientprotocol/sdk";
import type { ContextPart, Prompt } from "@berth/contract/agent.ts";
import { parsePath } from "../../files/workspace-folder.ts";
import { isStringArray, requiredText } from "../../http/body.ts";
import { badRequest } from "../../http/errors.ts";
import type { ImageStore } from "./image-store.ts";

const MAX_PARTS = 50;
const MAX_IMAGES = 8;

// A prompt from a browser.
export function parsePrompt({ text, context = [], images = [] }: { text: unknown; context?: unknown; images?: unknown }): Prompt {
  if (!Array.isArray(context) || context.length > MAX_PARTS) throw badRequest(`context must be an array of at most ${MAX_PARTS} files`);
  if (!isStringArray(images) || images.length > MAX_IMAGES) throw badRequest(`images must be an array of at most ${MAX_IMAGES} ids`);
  return {
    text: requiredText(text, "text"),
    ...(context.length === 0 ? {} : { context: context.map(parsePart) }),
    ...(images.length === 0 ? {} : { images }),
  };
}

function parsePart(part: unknown): ContextPart {
  const { path, selection } = (part ?? {}) as Record<string, unknown>;
  const parsed = { path: parsePath(requiredText(path, "path")) };
  if (selection === undefined) return parsed;
  const { fromLine, toLine, text } = (selection ?? {}) as Record<string, unknown>;
  if (typeof fromLine !== "number" || typeof toLine !== "number") throw badRequest("fromLine and toLine must be numbers");
  return { ...parsed, selection: { fromLine, toLine, text: requiredText(text, "text") } };
}

export interface ContentOptions {
  workspace: string;
  images: ImageStore;
  capabilities: PromptCapabilities;
  // Something that the agent must know, although no person has written it.
  note?: string | null;
}

// A prompt in the form of the Agent Client Protocol.
export async function promptContent(prompt: Prompt, { workspace, images, capabilities, note }: ContentOptions): Promise<ContentBlock[]> {
  const pictures = capabilities.image ? (prompt.images ?? []) : [];
  return [
    { type: "text", text: prompt.text },
    ...(prompt.context ?? []).map((part) => contextBlock(part, workspace, capabilities)),
    ...(await Promise.all(pictures.map(async (id) => imageBlock(await images.read(id))))),
    ...(note ? [{ type: "text" as const, text: note }] : []),
  ];
}

function contextBlock({ path, selection }: ContextPart, workspace: string, { embeddedContext }: PromptCapabilities): ContentBlock {
  const uri = pathToFileURL(join(workspace, path)).href;
  if (!selection) return { type: "resource_link", name: path, uri };
  const { fromLine, toLine, text } = selection;
  if (embeddedContext) return { type: "resource", resource: { uri: `${uri}#L${fromLine}-L${toLine}`, mimeType: "text/plain", text } };
  return { type: "text", text: `Lines ${fromLine} to ${toLine} of ${path}:\n\n${text}` };
}

const imageBlock = ({ bytes, mimeType }: { bytes: Buffer; mimeType: string }): ContentBlock => ({
  type: "image",
  mimeType,
  data: bytes.toString("base64"),
});
