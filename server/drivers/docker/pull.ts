import { AppError } from "@berth/contract";
import type { Log } from "../../log.ts";
import type { Engine } from "./engine.ts";

// Fetches an image that the Engine does not have. Many sandboxes may ask for the same at once: there is one pull, and it
// goes on when the first of them gives up, since the next one needs the image too.
export function createPuller({ engine, log }: { engine: Engine; log: Log }): (image: string, signal: AbortSignal) => Promise<void> {
  const running = new Map<string, Promise<void>>();

  async function pull(image: string): Promise<void> {
    const { body } = await engine.call({ method: "POST", path: "/images/create", query: parseImage(image), timeoutMs: 10 * 60_000 });
    // The status is 200 as soon as the pull begins; how it ended is in the last line.
    const fault = /"error":"((?:[^"\\]|\\.)*)"/.exec(typeof body === "string" ? body : JSON.stringify(body));
    if (fault) throw new AppError("sandbox_failed", { cause: new Error(`docker: pull of ${image}: ${fault[1]}`) });
    log.info("docker.image_pulled", { image });
  }

  return async (image, signal) => {
    let work = running.get(image);
    if (!work) {
      work = pull(image).finally(() => running.delete(image));
      running.set(image, work);
    }
    await raceAbort(work, signal);
  };
}

// Without a tag the Engine would fetch every tag there is.
export function parseImage(image: string): Record<string, string> {
  const tagged = image.includes("@") || /:[^/]+$/.test(image);
  return { fromImage: tagged ? image : `${image}:latest` };
}

function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
