import { ApiError } from "./api.ts";

export interface UploadOptions {
  // With "never", a file that exists is a 412.
  replace: "never" | "always";
  signal: AbortSignal;
  // Called with the number of bytes sent so far.
  onProgress: (bytes: number) => void;
}

// Writes a file and reports its progress, which `fetch` cannot. Rejects with the signal's reason when aborted.
export function uploadFile(url: string, file: Blob, { replace, signal, onProgress }: UploadOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    signal.addEventListener("abort", abort, { once: true });
    request.open("PUT", url);
    request.setRequestHeader("content-type", "application/octet-stream");
    if (replace === "never") request.setRequestHeader("if-none-match", "*");
    request.upload.addEventListener("progress", ({ loaded }) => onProgress(loaded));
    request.addEventListener("load", () => (request.status < 300 ? resolve() : reject(errorOf(request))));
    request.addEventListener("error", () => reject(new ApiError(0, "offline", "The workspace cannot be reached. Check your connection")));
    request.addEventListener("abort", () => reject(signal.reason as Error));
    request.addEventListener("loadend", () => signal.removeEventListener("abort", abort));
    request.send(file);
  });
}

function errorOf({ status, responseText }: XMLHttpRequest): ApiError {
  const unexpected = `The workspace returned an unexpected response (${status})`;
  try {
    const { error = unexpected, code = "unknown" } = JSON.parse(responseText) as { error?: string; code?: string };
    return new ApiError(status, code, error);
  } catch {
    return new ApiError(status, "unknown", unexpected);
  }
}
