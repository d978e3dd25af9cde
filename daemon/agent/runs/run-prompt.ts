import type { Prompt } from "@berth/contract/agent.ts";
import { parsePath, type WorkspaceFolder } from "../../files/workspace-folder.ts";
import { requiredText } from "../../http/body.ts";
import { badRequest } from "../../http/errors.ts";
import { readSmallFile } from "../../io/small-file.ts";
import { type ImageStore, MAX_IMAGE_BYTES } from "../prompts/image-store.ts";
import type { RunPrompt } from "./run-record.ts";

const MAX_ATTACHMENTS = 50;
const MAX_IMAGES = 8;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_SELECTION = 256 * 1024;

// A prompt of a run. Images are stored at once: the run may wait, and its record must stay small.
export async function parseRunPrompt(text: unknown, attachments: unknown, images: ImageStore): Promise<RunPrompt> {
  const prompt: RunPrompt = { text: requiredText(text, "prompt"), files: [], images: [] };
  if (attachments === undefined) return prompt;
  if (!Array.isArray(attachments) || attachments.length > MAX_ATTACHMENTS)
    throw badRequest(`attachments must be an array of at most ${MAX_ATTACHMENTS} files and images`);
  for (const attachment of attachments) {
    const { path, fromLine, toLine, image } = (attachment ?? {}) as Record<string, unknown>;
    if (image !== undefined) {
      if (prompt.images.length === MAX_IMAGES) throw badRequest(`A prompt can have at most ${MAX_IMAGES} images`);
      const bytes = Buffer.from(typeof image === "string" ? image : "", "base64");
      if (bytes.length > MAX_IMAGE_BYTES) throw badRequest("The image is larger than 3 MiB");
      prompt.images.push(await images.add(bytes));
    } else {
      const lines = { ...(isLine(fromLine, "fromLine") && { fromLine }), ...(isLine(toLine, "toLine") && { toLine }) };
      prompt.files.push({ path: parsePath(requiredText(path, "path")), ...lines });
    }
  }
  return prompt;
}

function isLine(value: unknown, name: string): value is number {
  if (value !== undefined && (!Number.isSafeInteger(value) || (value as number) < 1)) throw badRequest(`${name} must be an integer from 1`);
  return value !== undefined;
}

// Selections are read now: earlier turns may have changed the files.
export async function readPrompt({ text, files, images }: RunPrompt, workspace: WorkspaceFolder): Promise<Prompt> {
  const context = await Promise.all(
    files.map(async ({ path, fromLine = 1, toLine }) => {
      if (fromLine === 1 && toLine === undefined) return { path };
      const lines = (await readLines(workspace, path))?.slice(fromLine - 1, toLine);
      if (!lines || lines.length === 0) return { path };
      return { path, selection: { fromLine, toLine: fromLine + lines.length - 1, text: lines.join("\n").slice(0, MAX_SELECTION) } };
    }),
  );
  return { text, ...(context.length > 0 && { context }), ...(images.length > 0 && { images }) };
}

async function readLines(workspace: WorkspaceFolder, path: string): Promise<string[] | null> {
  try {
    await using file = await workspace.pin(path);
    const bytes = await readSmallFile(file.at, MAX_FILE_BYTES);
    return typeof bytes === "string" ? null : bytes.toString("utf8").split("\n");
  } catch {
    return null;
  }
}
