import { PREVIEW_ADDRESS_MESSAGE } from "@berth/contract/workspace/workspace.ts";

const MAX_LENGTH = 2000;

// The path in a message from the page in a preview. Its code is untrusted, so null for anything unexpected.
export function readAddress(message: unknown): string | null {
  if (typeof message !== "object" || message === null || !("type" in message) || !("path" in message)) return null;
  const { type, path } = message;
  const isPath = typeof path === "string" && path.length <= MAX_LENGTH && /^\/(?![/\\])[\x21-\x7e]*$/.test(path);
  return type === PREVIEW_ADDRESS_MESSAGE && isPath ? path : null;
}
