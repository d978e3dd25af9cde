import type { GitEvent } from "@berth/contract/git.ts";
import { toAppError } from "../http/errors.ts";
import type { Call } from "../http/route.ts";
import type { GitOptions } from "./process/git-process.ts";

const MAX_TEXT = 200;

// Responds at once, because the work may take longer than a caller waits for a response, and reports how it goes.
export async function streamEvents(
  { response, onGone }: Pick<Call, "response" | "onGone">,
  work: (options: GitOptions) => Promise<void>,
): Promise<void> {
  response.writeHead(200, { "Content-Type": "application/x-ndjson; charset=utf-8", "Cache-Control": "no-store" });
  response.flushHeaders();
  const send = (event: GitEvent) => void response.write(`${JSON.stringify(event)}\n`);
  // Progress is dropped while the reader is slow.
  const onProgress = (output: string) => {
    const text =
      output
        .trim()
        .split(/[\r\n]/)
        .at(-1)
        ?.slice(0, MAX_TEXT) ?? "";
    if (text !== "" && !response.writableNeedDrain) send({ type: "progress", text });
  };
  try {
    await work({ signal: untilGone({ onGone }), onProgress });
    send({ type: "done" });
  } catch (error) {
    const { code, message } = toAppError(error);
    send({ type: "failed", code, message });
  }
  response.end();
}

// Aborts when the caller disconnects.
export function untilGone({ onGone }: Pick<Call, "onGone">): AbortSignal {
  const controller = new AbortController();
  onGone(() => controller.abort());
  return controller.signal;
}
