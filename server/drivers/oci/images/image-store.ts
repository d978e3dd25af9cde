import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@berth/contract";
import { raceAbort } from "../../../bounded-io/race-abort.ts";
import { createSemaphore } from "../../../fairness/semaphore.ts";
import type { Log } from "../../../log.ts";
import type { ImageState } from "../../driver.ts";
import type { FileRunner } from "../../host/file-runner.ts";
import { resolveImage, type RegistryOptions } from "./fetching/copy-image.ts";
import { CONFIG_FILE, createImageFetcher } from "./fetching/fetch-image.ts";
import { watchFetch, type FetchLimits, type FetchWatch } from "./fetching/fetch-watch.ts";
import type { ImageConfig } from "./fetching/image-config.ts";
import { describeFailure, ImageRefusal } from "./fetching/image-refusal.ts";
import { parseImageName, type ImageSource } from "./fetching/image-source.ts";
import { missingTools } from "./fetching/image-tools.ts";
import { createProgress, isRunning, ownerOf, readImageState } from "./image-state.ts";
import { readJson } from "./json-files.ts";
import { createPins, folderOfDigest } from "./pins.ts";

// An image that is unpacked in the data folder. All sandboxes share it, and nothing changes it.
export interface ImageRoot {
  // `sha256:…`, of the manifest or index that the registry has.
  digest: string;
  root: string;
  config: ImageConfig;
}

// The images of this installation's sandboxes, by the names that templates and repositories have for them. A name is resolved to a
// digest once, and again only by `pull`.
export interface ImageStore extends AsyncDisposable {
  // Returns the image if it is stored. `digest` selects another version than the one that the name stands for now.
  find(name: string, digest?: string): ImageRoot | undefined;
  // Returns the image. If it is not stored, begins to fetch it and throws the error for a caller that does not wait.
  require(name: string): ImageRoot;
  // Fetches the image if it is not here. An abort ends only the wait of this caller, because others need the image too.
  ensure(name: string, signal: AbortSignal): Promise<ImageRoot>;
  // Asks the registry again, and fetches the image if it has another digest.
  pull(name: string, signal: AbortSignal): Promise<ImageRoot>;
  // Stores the image in a file (docker-archive) under a name that the caller chooses.
  importArchive(path: string, name: string, signal: AbortSignal): Promise<ImageRoot>;
  state(name: string): ImageState;
  // Begins to fetch the image, without waiting for it.
  begin(name: string): void;
  // Removes the images that nothing uses: neither one of these names nor one of these digests.
  collect(inUse: { names: ReadonlySet<string>; digests(): ReadonlySet<string> }): Promise<void>;
}

export interface ImageStoreOptions {
  dataDir: string;
  files: FileRunner;
  log: Log;
  diskReserveMib?: number;
  registry?: RegistryOptions;
  limits?: Partial<FetchLimits>;
  timeoutMs?: number;
}

const LIMITS: FetchLimits = { maxBytes: 32 * 2 ** 30, maxFiles: 2_000_000, diskReserveMib: 0, stallMs: 60_000 };
const FETCHES = 2;
const TIMEOUT_MS = 60 * 60_000;
// After a failure, the next create after this time tries again.
const RETRY_MS = 30_000;
// An image that a repository names is unused until its sandbox starts again in it.
const UNUSED_MS = 60 * 60_000;
// The name of a draft starts with the process that owns it.
const OWNER = ownerOf(process.pid);

interface Fetch {
  work: Promise<ImageRoot>;
  percent(): number;
}

export function createImageStore(options: ImageStoreOptions): ImageStore {
  const { dataDir, files, log, registry = {}, timeoutMs = TIMEOUT_MS } = options;
  const limits = { ...LIMITS, diskReserveMib: options.diskReserveMib ?? 0, ...options.limits };
  const folder = join(dataDir, "images");
  const draftsDir = join(folder, "drafts");
  const pins = createPins(folder);
  const progress = createProgress(folder);
  const fetches = new Map<string, Fetch>();
  const failures = new Map<string, { error: AppError; atMs: number }>();
  const closing = new AbortController();
  const limitFetches = createSemaphore({ permits: FETCHES });
  const fetchInto = createImageFetcher({ files, registry, limits, timeoutMs });
  const task = { holder: null, signal: closing.signal };
  const leftDrafts = removeLeftDrafts();

  const folderOf = (digest: string) => folderOfDigest(folder, digest);

  // The folders of images.
  const listFolders = () => (existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith("sha256-")) : []);

  function open(digest: string): ImageRoot | undefined {
    const config = readJson<ImageConfig>(join(folderOf(digest), CONFIG_FILE));
    return config && { digest, root: join(folderOf(digest), "root"), config };
  }

  function find(name: string, digest = pins.of(name)?.digest): ImageRoot | undefined {
    return digest === undefined ? undefined : open(digest);
  }

  // Two calls for one image share one fetch.
  function begin(name: string, source = () => parseImageName(name)): Fetch {
    const running = fetches.get(name);
    if (running) return running;
    let watch: FetchWatch | undefined;
    const startedMs = performance.now();
    const work = limitFetches(task, () => fetchImage(name, source(), (opened) => (watch = opened)))
      .then(
        (image) => {
          failures.delete(name);
          progress.clear(name);
          log.info("image.fetched", { image: name, digest: image.digest, tookMs: Math.round(performance.now() - startedMs) });
          return image;
        },
        (error: unknown) => {
          progress.clear(name);
          if (closing.signal.aborted) throw error;
          const failure = describeFailure(error);
          failures.set(name, { error: failure, atMs: performance.now() });
          progress.set(name, { failed: failure.message });
          log.warn("image.failed", { image: name, error: failure.message, cause: String(failure.cause) });
          throw failure;
        },
      )
      .finally(() => fetches.delete(name));
    work.catch(() => {});
    const fetch = { work, percent: () => watch?.percent() ?? 0 };
    fetches.set(name, fetch);
    return fetch;
  }

  async function fetchImage(name: string, source: ImageSource, onWatch: (watch: FetchWatch) => void): Promise<ImageRoot> {
    const missing = missingTools();
    if (missing) throw new ImageRefusal(missing);
    await leftDrafts;
    const draft = join(draftsDir, `${OWNER}-${randomBytes(6).toString("hex")}`);
    mkdirSync(join(draft, "work"), { recursive: true, mode: 0o700 });
    using watch = watchFetch(draft, limits, (percent) => progress.set(name, { percent, owner: OWNER }));
    onWatch(watch);
    const signal = AbortSignal.any([closing.signal, watch.signal]);
    try {
      const { digest, bytes } = await resolveImage(source, draft, registry, signal);
      if (bytes !== undefined) watch.expect(bytes);
      const before = open(digest);
      if (!before) await fetchInto(source, { digest, draft, watch, signal });
      // The name comes first, so that no process takes the image for an unused one.
      pins.set(name, digest);
      return before ?? (await publish(draft, digest));
    } finally {
      await removeFolder(draft);
    }
  }

  // Gives a complete draft its name.
  async function publish(draft: string, digest: string): Promise<ImageRoot> {
    // A folder appears complete, so one that cannot be opened is damaged.
    if (existsSync(folderOf(digest)) && !open(digest)) await removeFolder(folderOf(digest));
    try {
      renameSync(draft, folderOf(digest));
    } catch (error) {
      // Another process, such as `berth template pull`, has been faster.
      if (!open(digest)) throw error;
    }
    return open(digest)!;
  }

  async function removeFolder(path: string): Promise<void> {
    if (existsSync(path)) await files.run("rm", ["-rf", "--one-file-system", "--", path], { timeoutMs });
  }

  // Removes the drafts of processes that have ended.
  async function removeLeftDrafts(): Promise<void> {
    for (const name of existsSync(draftsDir) ? readdirSync(draftsDir) : []) {
      if (isRunning(name.split("-")[0]!)) continue;
      await removeFolder(join(draftsDir, name)).catch((error: unknown) => log.warn("image.draft_left", { error: String(error) }));
    }
  }

  function require(name: string): ImageRoot {
    const found = find(name);
    if (found) return found;
    const missing = missingTools();
    if (missing) throw describeFailure(new ImageRefusal(missing));
    const failure = failures.get(name);
    const isRecent = failure !== undefined && performance.now() - failure.atMs < RETRY_MS;
    const percent = isRecent && !fetches.has(name) ? 0 : begin(name).percent();
    // As long as a new attempt has received nothing, callers get the error of the last one.
    if (failure && percent === 0) throw failure.error;
    const message = `The image ${name} is being fetched (${percent}%); try again in a moment`;
    throw new AppError("image_fetching", { message, details: [{ field: "image", message: `${percent}%` }] });
  }

  return {
    find,
    require,
    ensure: async (name, signal) => find(name) ?? (await raceAbort(begin(name).work, signal)),
    pull: (name, signal) => raceAbort(begin(name).work, signal),
    importArchive: (path, name, signal) => raceAbort(begin(name, () => parseImageName(`docker-archive:${path}`)).work, signal),

    state: (name) => readImageState(dataDir, name, fetches.get(name)?.percent()),

    begin: (name) => void begin(name),

    async collect({ names, digests: readDigests }) {
      // A command such as `berth template pull` may have been killed while this server runs.
      await leftDrafts;
      await removeLeftDrafts();
      progress.forget(names, UNUSED_MS);
      for (const [name, { atMs }] of failures) if (performance.now() - atMs > UNUSED_MS) failures.delete(name);
      const digests = readDigests();
      for (const pin of pins.list()) {
        const isUsed = names.has(pin.name) || digests.has(pin.digest) || Date.now() - pin.atMs < UNUSED_MS || fetches.has(pin.name);
        if (!isUsed) pins.remove(pin.name);
      }
      for (const name of listFolders()) {
        const path = join(folder, name);
        // Read again for each image: a removal takes a while, in which a sandbox or a name may get the next one.
        if ([...readDigests(), ...pins.list().map(({ digest }) => digest)].some((digest) => folderOf(digest) === path)) continue;
        // Under another name it cannot be used while it is being removed.
        const draft = join(draftsDir, `${OWNER}-${name}`);
        mkdirSync(draftsDir, { recursive: true, mode: 0o700 });
        renameSync(path, draft);
        await removeFolder(draft);
        log.info("image.removed", { digest: name.replace("-", ":") });
      }
    },

    async [Symbol.asyncDispose]() {
      closing.abort(new AppError("unavailable"));
      await Promise.allSettled([leftDrafts, ...[...fetches.values()].map(({ work }) => work)]);
    },
  };
}
