import { ApiError } from "../../connection/api.ts";
import { uploadFile } from "../../connection/upload-file.ts";
import { joinPath } from "../../text/paths.ts";
import type { Uses } from "../../actions/actions.ts";

// A file and its path below the folder that it is uploaded to.
export interface Upload {
  path: string;
  file: File;
}

export interface SendOptions {
  replace: "never" | "always";
  signal: AbortSignal;
  // Called with the bytes of all files that were sent so far.
  report: (doneBytes: number) => void;
}

const AT_ONCE = 4;

// Uploads files, a few at a time. Returns those that were skipped because the file exists.
export async function sendFiles({ api }: Uses<"api">, folder: string, uploads: readonly Upload[], options: SendOptions): Promise<Upload[]> {
  const { replace, signal, report } = options;
  let sentBytes = 0;
  const skipped: Upload[] = [];
  const waiting = [...uploads];

  async function sendNext(): Promise<void> {
    for (let upload = waiting.shift(); upload !== undefined; upload = waiting.shift()) await send(upload);
  }

  async function send(upload: Upload): Promise<void> {
    let ownBytes = 0;
    const onProgress = (bytes: number) => {
      sentBytes += bytes - ownBytes;
      ownBytes = bytes;
      report(sentBytes);
    };
    try {
      await uploadFile(api.fileUrl(joinPath(folder, upload.path)), upload.file, { replace, signal, onProgress });
    } catch (error) {
      if (replace === "always" || !fileExists(error)) {
        waiting.length = 0;
        // Shows the page for people who are signed out.
        if (error instanceof ApiError && error.code === "unauthorized") await api.json("session");
        throw error;
      }
      skipped.push(upload);
    }
    onProgress(upload.file.size);
  }

  await Promise.all(Array.from({ length: AT_ONCE }, sendNext));
  return skipped;
}

const fileExists = (error: unknown) => error instanceof ApiError && error.status === 412;
