import { MINUTE, type Clock } from "../../../clock.ts";
import { runWork } from "../../../event-loop/loop-work.ts";
import type { Log } from "../../../log.ts";
import type { ImageStore } from "./image-store.ts";

export interface UpkeepOptions {
  images: ImageStore;
  // The names of the templates' images.
  names: ReadonlySet<string>;
  // The digests that sandboxes use.
  inUse(): Set<string>;
  clock: Clock;
  log: Log;
}

export interface Upkeep extends AsyncDisposable {
  // To be called after a destroy, with the digest of the sandbox's image.
  released(digest: string): void;
}

const UPKEEP = { name: "images" };
const EVERY_MS = 1 * MINUTE;

// Keeps the images of templates on this machine, from the start of the server on, and removes those that nothing uses any more.
export function keepImages({ images, names, inUse, clock, log }: UpkeepOptions): Upkeep {
  let working: Promise<void> | undefined;

  function work(): Promise<void> {
    for (const name of names) if (images.state(name).state !== "ready") images.begin(name);
    working ??= images
      .collect({ names, digests: inUse })
      .catch((error: unknown) => log.warn("image.collect_failed", { error: String(error) }))
      .finally(() => (working = undefined));
    return working;
  }

  void work();
  const timer = clock.every(EVERY_MS, () => runWork(UPKEEP, work));
  return {
    released(digest) {
      const isOfTemplate = [...names].some((name) => images.find(name)?.digest === digest);
      if (!isOfTemplate) void work();
    },
    async [Symbol.asyncDispose]() {
      await timer[Symbol.asyncDispose]();
      await working;
    },
  };
}
