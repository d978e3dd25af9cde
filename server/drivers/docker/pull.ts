import { raceAbort } from "../../bounded-io/race-abort.ts";
import type { Log } from "../../log.ts";
import { imageNotFetched } from "../image-not-fetched.ts";
import { messageOf, type Engine } from "./engine.ts";

// Returns a function that pulls an image. Concurrent calls for one image share one pull. An abort ends only the wait of that caller,
// because the other callers, or the next sandbox, need the image too.
export function createPuller({ engine, log }: { engine: Engine; log: Log }): (image: string, signal: AbortSignal) => Promise<void> {
  const running = new Map<string, Promise<void>>();

  async function pull(image: string): Promise<void> {
    const request = { query: parseImage(image), timeoutMs: 10 * 60_000, accept: [400, 401, 403, 404, 500] };
    const { status, body } = await engine.call({ method: "POST", path: "/images/create", ...request });
    // The Engine answers 200 as soon as the pull begins. The last line of the body has the result.
    const failure = /"error":"((?:[^"\\]|\\.)*)"/.exec(typeof body === "string" ? body : JSON.stringify(body));
    if (status >= 400 || failure) throw imageNotFetched(`docker: pull of ${image}: ${failure?.[1] ?? messageOf(body)}`);
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

// Without a tag, the Engine would pull every tag of the repository.
export function parseImage(image: string): Record<string, string> {
  const hasTag = image.includes("@") || /:[^/]+$/.test(image);
  return { fromImage: hasTag ? image : `${image}:latest` };
}
