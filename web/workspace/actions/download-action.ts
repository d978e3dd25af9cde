import { readBlob } from "../connection/read-blob.ts";
import { download, saveAs } from "../browser/download.ts";
import { nameOf } from "../text/paths.ts";
import type { Uses } from "./actions.ts";

type Deps = Uses<"api" | "notices" | "transfers">;

// A larger file is left to the browser, which writes it to the disk while it arrives.
const MAX_BYTES = 512 * 1024 * 1024;

export const downloadFile = (deps: Deps, path: string): Promise<void> =>
  downloadUrl(deps, { from: deps.api.filePath(path), name: nameOf(path) });

// The folder as a zip. Without a path it is the whole workspace.
export const downloadFolder = (deps: Deps, path: string): Promise<void> =>
  downloadUrl(deps, { from: deps.api.archivePath(path), name: `${nameOf(path) || "workspace"}.zip` });

interface Source {
  // The path of the API.
  from: string;
  name: string;
}

// Shows how much has arrived, and lets the person cancel.
async function downloadUrl({ api, transfers, notices }: Deps, { from, name }: Source): Promise<void> {
  await notices.attempt(`Could not download ${name}`, () =>
    transfers.run({ kind: "download", text: `Downloading ${name}`, totalBytes: null }, async ({ signal, report, expect }) => {
      try {
        const response = await api.call(from, { signal, cache: "no-store" });
        const length = response.headers.get("content-length");
        if (length !== null) expect(Number(length));
        if (Number(length) > MAX_BYTES) {
          await response.body?.cancel();
          return download(api.urlOf(from), name);
        }
        saveAs(await readBlob(response, report), name);
      } catch (error) {
        if (!signal.aborted) throw error;
        notices.info(`The download of ${name} was cancelled.`);
      }
    }),
  );
}
