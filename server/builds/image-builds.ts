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
  // The build has its limits and its egress.
  template: Template;
  // Opens the archive with the plan and the files (daemon/builds/). It has the same bytes each time.
  open(signal: AbortSignal): Promise<Readable>;
}

export interface BuildOptions {
  // Called with the whole log of the build, including what it wrote before this call. The middle of a very long log is left out.
  onOutput(text: string): void;
  signal: AbortSignal;
}

export interface ImageBuildsDeps {
  sandboxes: BuildSandboxes;
  images: Pick<Required<DriverImages>, "stateOf" | "importArchive">;
  // For the archives of images until they are stored.
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
    const startedMs = performance.now();
    const result = turns({ holder: partnerId, signal }, async () => {
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
    result.catch((error: unknown) => {
      if (!signal.aborted) log.warn("image.build_failed", { image: name, partnerId, error: describeError(error) });
    });
    void result.catch(() => {}).finally(() => builds.delete(name));
    const build: Build = { result, log: output, followers: 0, abort };
    builds.set(name, build);
    return build;
  }

  // An image that the store refuses would be refused again, so the session must not ask for another build of it.
  async function store(archive: string, name: string, signal: AbortSignal): Promise<void> {
    await images.importArchive(archive, name, signal).catch((error: unknown) => {
      throw isAppError(error, "sandbox_failed") ? new BuildFailure(`${error.message}.`, { cause: error }) : error;
    });
  }

  // Without followers, a build is aborted.
  async function follow(build: Build, { onOutput, signal }: BuildOptions): Promise<string> {
    using _ = build.log.follow(onOutput);
    build.followers++;
    try {
      return await raceAbort(build.result, signal);
    } finally {
      build.followers--;
      if (build.followers === 0) build.abort.abort(new Error("no session waits for this build"));
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
          // The files of a shared build are in another session, which may be gone.
          if (!shared || error instanceof BuildFailure) throw error;
        }
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort(new Error("the server is stopping"));
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
