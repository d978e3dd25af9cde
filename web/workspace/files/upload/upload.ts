import { describeError } from "../../state/page/notices.ts";
import { sendFiles, type Upload } from "./send-files.ts";
import { filesOf, type DroppedItem } from "./dropped-files.ts";
import type { Uses } from "../../actions/actions.ts";

type Deps = Uses<"api" | "dialogs" | "files" | "notices" | "transfers">;

// Uploads files and folders dropped from the desktop.
export const uploadItems = (deps: Deps, items: readonly DroppedItem[], folder: string): Promise<void> =>
  upload(deps, filesOf(items), folder);

export const uploadChosen = (deps: Deps, chosen: readonly File[], folder: string): Promise<void> =>
  upload(deps, Promise.resolve(chosen.map((file) => ({ path: file.webkitRelativePath || file.name, file }))), folder);

// Asks before it replaces existing files.
async function upload(deps: Deps, found: Promise<Upload[]>, folder: string): Promise<void> {
  const { notices, files, dialogs } = deps;
  try {
    const uploads = await found;
    if (uploads.length === 0) return;
    const existing = await send(deps, folder, uploads, "never");
    const replacing = existing.length > 0 && (await dialogs.confirm("Replace existing files?", namesOf(existing), "Replace"));
    if (replacing) await send(deps, folder, existing, "always");
    const count = uploads.length - (replacing ? 0 : existing.length);
    if (count > 0) notices.info(`Uploaded ${uploads.length === 1 ? uploads[0]?.path : count === 1 ? "1 file" : `${count} files`}`);
  } catch (error) {
    if (isCancelled(error)) notices.info("The upload was cancelled. Files that were complete stay.");
    else notices.error(`Could not upload: ${describeError(error)}`);
  } finally {
    await files.reload(folder);
  }
}

function send(deps: Deps, folder: string, uploads: Upload[], replace: "never" | "always"): Promise<Upload[]> {
  const totalBytes = uploads.reduce((sum, { file }) => sum + file.size, 0);
  const text = `Uploading ${uploads.length === 1 ? uploads[0]?.path : `${uploads.length} files`}`;
  return deps.transfers.run({ kind: "upload", text, totalBytes }, (progress) => sendFiles(deps, folder, uploads, { replace, ...progress }));
}

const isCancelled = (error: unknown) => error instanceof DOMException && error.name === "AbortError";

const MAX_NAMES = 10;

const namesOf = (uploads: Upload[]): string =>
  uploads
    .slice(0, MAX_NAMES)
    .map(({ path }) => path)
    .join(", ") + (uploads.length > MAX_NAMES ? ` and ${uploads.length - MAX_NAMES} more` : "");
