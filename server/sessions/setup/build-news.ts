import type { SandboxId } from "@berth/contract";
import type { SetupLink } from "./setup-link.ts";

const SEND_EVERY_MS = 250;
const MAX_CHARS = 64 * 1024;

// Sends what a build writes to the sandbox whose Setup terminal shows it. A sandbox that does not answer gets it later, or not at all.
export interface BuildNewsSender extends AsyncDisposable {
  add(text: string): void;
  // Sends the rest, and why the build has failed.
  end(failed: string): Promise<void>;
}

export function sendBuildNews(link: Pick<SetupLink, "sendBuildNews">, sandboxId: SandboxId, signal: AbortSignal): BuildNewsSender {
  let unsent = "";
  let from = 0;
  // One request at a time, because each may take as long as the timeout of the link.
  let sending: Promise<void> | undefined;
  const timer = setInterval(() => {
    sending ??= send()
      .catch(() => {})
      .finally(() => (sending = undefined));
  }, SEND_EVERY_MS);
  timer.unref();

  async function send(): Promise<void> {
    const text = unsent.slice(0, MAX_CHARS);
    if (text === "") return;
    await link.sendBuildNews(sandboxId, { from, text }, signal);
    unsent = unsent.slice(text.length);
    from += Buffer.byteLength(text);
  }

  return {
    add(text) {
      unsent += text;
    },
    async end(failed) {
      clearInterval(timer);
      await sending;
      while (unsent !== "") await send();
      await link.sendBuildNews(sandboxId, { from, text: "", failed }, signal);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sending;
    },
  };
}
