import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { isAppError, type Template } from "@berth/contract";
import { raceAbort } from "../bounded-io/race-abort.ts";
import { MINUTE } from "../clock.ts";
import type { DriverImages } from "../drivers/driver.ts";
import { describeError } from "../faults/describe-error.ts";
import { createSemaphore } from "../fairness/semaphore.ts";
import type { Log } from "../log.ts";
import { createBuildLog, type BuildLog } from "./build-log.ts";
import { buildHash, builtImageName } from "./built-image.ts";
import { BuildFailure, type BuildSandboxes } from "./build-sandboxes.ts";

// Builds the images that repositories describe. Sessions that want the same image share one build.
export interface ImageBuilds extends AsyncDisposable {
  // Why nothing is built here, as the end of a sentence for people. null: images are built.
  readonly refusal: string | null;
  // Returns the name of the image, which is then in the store. Rejects with a BuildFailure, whose message is for people, or with the
  // reason of the signal.
  build(job: BuildJob, options: BuildOptions): Promise<string>;
}

export interface BuildJob {
  partnerId: string;
  // Whose limits and egress the build has.
  template: Template;
  // Opens the archive of what is built (daemon/builds/), which has the same bytes each time.
  open(signal: AbortSignal): Promise<Readable>;
}

export interface BuildOptions {
  // Gets what the build writes, also what it has written before this call. Of a very long log, the middle is left out.
  onOutput(text: string): void;
  signal: AbortSignal;
}

export interface ImageBuildsDeps {
  sandboxes: BuildSandboxes;
  images: Pick<Required<DriverImages>, "stateOf" | "importArchive">;
  // For the archives of images on their way to the store.
  folder: string;
  log: Log;
}

interface Build {
  result: Promise<string>;
  log: BuildLog;
  followers: number;
  abort: AbortController;
}

const BUILDS_AT_ONCE = 2;
const BUILDS_PER_PARTNER = 1;
const DEADLINE_MS = 30 * MINUTE;

export const noBuilds = (refusal: string): ImageBuilds => ({
  refusal,
  build: () => Promise.reject(new BuildFailure(`No image is built, because ${refusal}`)),
  async [Symbol.asyncDispose]() {},
});

export function createImageBuilds({ sandboxes, images, folder, log }: ImageBuildsDeps): ImageBuilds {
  const builds = new Map<string, Build>();
  const turns = createSemaphore({ permits: BUILDS_AT_ONCE, perHolder: BUILDS_PER_PARTNER });
  const closing = new AbortController();
  // A server that was killed may have left archives.
  rmSync(folder, { recursive: true, force: true });

  function begin(name: string, digest: string, { partnerId, template, open }: BuildJob): Build {
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, closing.signal]);
    const output = createBuildLog();
    const build: Build = { result: Promise.resolve(""), log: output, followers: 0, abort };
    const startedMs = performance.now();
    build.result = turns({ holder: partnerId, signal }, async () => {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const archive = join(folder, `${digest}.tar`);
      try {
        await sandboxes.run({ template, digest, open, image: archive }, { onOutput: output.add, signal: bounded });
        output.add("Storing the image\n");
        await store(archive, name, bounded);
      } catch (error) {
        signal.throwIfAborted();
        if (bounded.aborted) throw new BuildFailure(`The build took longer than ${DEADLINE_MS / MINUTE} minutes and was stopped.`);
        throw error;
      } finally {
        output.end();
        rmSync(archive, { force: true });
      }
      log.info("image.built", { image: name, partnerId, tookMs: Math.round(performance.now() - startedMs) });
      return name;
    });
    build.result.catch((error: unknown) => {
      if (!signal.aborted) log.warn("image.build_failed", { image: name, partnerId, error: describeError(error) });
    });
    void build.result.catch(() => {}).finally(() => builds.delete(name));
    builds.set(name, build);
    return build;
  }

  // An image that the store refuses would be refused again, so the session must not ask for another build of it.
  async function store(archive: string, name: string, signal: AbortSignal): Promise<void> {
    await images.importArchive(archive, name, signal).catch((error: unknown) => {
      throw isAppError(error, "sandbox_failed") ? new BuildFailure(`${error.message}.`, { cause: error }) : error;
    });
  }

  // The last one who leaves ends the build.
  async function follow(build: Build, { onOutput, signal }: BuildOptions): Promise<string> {
    using _ = build.log.follow(onOutput);
    build.followers++;
    try {
      return await raceAbort(build.result, signal);
    } finally {
      build.followers--;
      if (build.followers === 0) build.abort.abort(new Error("nobody waits for the build any more"));
    }
  }

  return {
    refusal: null,
    async build(job, options) {
      const signal = AbortSignal.any([options.signal, closing.signal]);
      const digest = await digestOf(job, signal);
      const name = builtImageName(digest);
      for (;;) {
        if (images.stateOf(name).state === "ready") return name;
        const shared = builds.get(name);
        const build = shared ?? begin(name, digest, job);
        try {
          return await follow(build, { ...options, signal });
        } catch (error) {
          signal.throwIfAborted();
          // The session from which another build took its files may be gone.
          if (!shared || error instanceof BuildFailure) throw error;
        }
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort(new Error("the server stops"));
      await Promise.allSettled([...builds.values()].map(({ result }) => result));
      await sandboxes[Symbol.asyncDispose]();
    },
  };
}

async function digestOf({ open, template }: BuildJob, signal: AbortSignal): Promise<string> {
  const hash = buildHash(template);
  for await (const chunk of await open(signal)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
