import { opendirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSemaphore } from "../../../../fairness/semaphore.ts";
import type { FileRunner } from "../../../host/file-runner.ts";
import { makeMountPoints } from "../../filesystem/root.ts";
import { USER } from "../../users/user-ids.ts";
import { addUser } from "./add-user.ts";
import { copyImage, type RegistryOptions } from "./copy-image.ts";
import { tooLarge, tooManyFiles, type FetchLimits, type FetchWatch } from "./fetch-watch.ts";
import { readImageConfig } from "./image-config.ts";
import { ImageRefusal } from "./image-refusal.ts";
import type { ImageSource } from "./image-source.ts";
import { unpackImage } from "./unpack-image.ts";

export interface FetcherOptions {
  files: FileRunner;
  registry: RegistryOptions;
  limits: FetchLimits;
  timeoutMs: number;
}

export interface FetchTarget {
  digest: string;
  // A folder with an empty folder `work`. It gets the files of the image in `root`, and its settings in CONFIG_FILE.
  draft: string;
  watch: FetchWatch;
  signal: AbortSignal;
}

export type FetchImage = (source: ImageSource, target: FetchTarget) => Promise<void>;

export const CONFIG_FILE = "image.json";

// Returns a function that fetches an image, checks it, and prepares it for sandboxes.
export function createImageFetcher({ files, registry, limits, timeoutMs }: FetcherOptions): FetchImage {
  // Layers need a whole processor to unpack, and the ids of the namespace are those of one image.
  const limitUnpacks = createSemaphore({ permits: 1 });
  const fileBytes = limits.maxBytes;

  return async (source, { digest, draft, watch, signal }) => {
    watch.checkDisk();
    await copyImage(source, { digest, draft }, registry, { signal, timeoutMs, fileBytes });
    const size = await limitUnpacks({ holder: null, signal }, () => {
      watch.unpacking();
      return unpackImage({ draft, files, fileBytes, timeoutMs, signal });
    });
    watch.checkDisk();
    if (size.bytes > limits.maxBytes) throw new ImageRefusal(tooLarge(limits.maxBytes));
    if (size.files > limits.maxFiles) throw new ImageRefusal(tooManyFiles(limits.maxFiles));
    const root = join(draft, "root");
    checkTop(root);
    const config = readImageConfig(join(draft, "work/layout"), root);
    addUser(root, config.user?.uid ?? USER);
    try {
      makeMountPoints(root);
    } catch (error) {
      throw new ImageRefusal("a link or a file is where Berth needs a folder, such as /home/user", { cause: error });
    }
    writeFileSync(join(draft, CONFIG_FILE), JSON.stringify({ ...config, ...size }), { mode: 0o600 });
    await files.run("rm", ["-rf", "--one-file-system", "--", join(draft, "work")], { timeoutMs });
    // Otherwise a power cut could leave an image whose files are empty.
    await files.run("sync", ["--file-system", root], { signal, timeoutMs });
  };
}

// Each entry at the top of an image is a mount of every sandbox, and the runtime bounds the sum of their paths.
function checkTop(root: string): void {
  using folder = opendirSync(root);
  let entries = 0;
  for (let entry = folder.readSync(); entry; entry = folder.readSync()) {
    if (++entries > MAX_TOP_ENTRIES) throw new ImageRefusal(`it has more than ${MAX_TOP_ENTRIES} files and folders at its top`);
    if (entry.name.includes(NOT_UTF8)) throw new ImageRefusal("a file at its top has a name that is not UTF-8");
  }
}

const MAX_TOP_ENTRIES = 256;
// Node reads such a name with this character.
const NOT_UTF8 = "\uFFFD";
