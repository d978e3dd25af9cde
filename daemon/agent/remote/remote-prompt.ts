import { fileURLToPath } from "node:url";
import { relative } from "node:path";
import { type ContentBlock, RequestError } from "@agentclientprotocol/sdk";
import type { ContextPart, Prompt } from "@berth/contract/agent.ts";
import { parsePrompt } from "../prompts/prompt-content.ts";

// A prompt of a remote client as one of the workspace. Its files are those of the desktop, so a text that it embeds becomes part of the
// prompt, and only a link to a file of the sandbox stays one.
export function remotePrompt(blocks: readonly ContentBlock[], workspace: string): Prompt {
  const texts: string[] = [];
  const context: ContextPart[] = [];
  for (const block of blocks) {
    if (block.type === "text") texts.push(block.text);
    else if (block.type === "resource" && "text" in block.resource) texts.push(`${block.resource.uri}:\n\n${block.resource.text}`);
    else if (block.type === "resource_link") {
      const path = pathIn(workspace, block.uri);
      if (path === null) texts.push(`[${block.name}](${block.uri})`);
      else context.push({ path });
    } else throw RequestError.invalidParams(undefined, `This agent takes text, embedded texts and links in a prompt, but no ${block.type}`);
  }
  return parsePrompt({ text: texts.join("\n\n"), context });
}

function pathIn(workspace: string, uri: string): string | null {
  if (!uri.startsWith("file://")) return null;
  try {
    const path = relative(workspace, fileURLToPath(uri));
    return path === "" || path.startsWith("..") ? null : path;
  } catch {
    return null;
  }
}
