import type { ToolContent } from "@berth/contract/agent.ts";
import type { Workspace } from "../../../state/workspace.ts";
import { decodeText, encodeText } from "../../../text/encoding.ts";
import { hunksOf } from "./line-diff.ts";
import { withoutHunks } from "./without-hunks.ts";

export type FileDiff = Extract<ToolContent, { type: "diff" }>;

const MAX_BYTES = 4 * 1024 * 1024;

// Takes hunks of the agent's edit out of the file. Throws if that would touch something else.
export async function rejectHunks({ api, documents }: Workspace, diff: FileDiff, hunks: readonly number[]): Promise<void> {
  const { path, oldText, newText, review = {} } = diff;
  if (path.startsWith("/")) throw new Error("The file is outside the workspace");
  if (documents.documentAt(path)?.edited) throw new Error("The file has unsaved changes. Save it first");
  const { bytes, etag } = await api.readFile(path, MAX_BYTES);
  const decoded = bytes && decodeText(bytes);
  if (!decoded) throw new Error("The file is too large, or not a text");
  const remains = hunksOf(oldText ?? "", newText).some((_hunk, index) => review[index] !== "rejected" && !hunks.includes(index));
  // Without its hunks, a new file is not there.
  if (oldText === null && !remains && decoded.text === newText) return void (await api.trash([path]));
  const next = withoutHunks(decoded.text, diff, hunks);
  if (next === null) throw new Error("The file has changed since. Use Compare to change it by hand");
  await api.writeFile(path, encodeText(next, decoded.encoding), etag);
}
