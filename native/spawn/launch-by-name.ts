import { existsSync } from "node:fs";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { type CLibrary, type Launch, SystemFailure } from "./c-library.ts";

const { EACCES, ENOENT, ENOEXEC, ENOTDIR } = constants.errno;
const DEFAULT_PATH = "/bin:/usr/bin";

export interface NamedLaunch extends Omit<Launch, "path" | "args"> {
  // The program and its arguments.
  words: string[];
}

// Starts the program as `execvp` does: in the first folder of PATH that has it or, if its format is unknown, with the shell. Throws a
// SystemFailure.
export function launchByName(library: CLibrary, { words, ...launch }: NamedLaunch, path = DEFAULT_PATH): number {
  const [file = ""] = words;
  if (file.includes("/")) return launchFile(library, file, words, launch);
  let failure = new SystemFailure("posix_spawn", ENOENT);
  for (const folder of path.split(":")) {
    const candidate = join(folder, file);
    if (!existsSync(resolve(launch.cwd ?? "", candidate))) continue;
    try {
      return launchFile(library, candidate, words, launch);
    } catch (error) {
      if (!(error instanceof SystemFailure) || ![EACCES, ENOENT, ENOTDIR].includes(error.errno)) throw error;
      if (error.errno === EACCES) failure = error;
    }
  }
  throw failure;
}

function launchFile(library: CLibrary, path: string, words: string[], launch: Omit<Launch, "path" | "args">): number {
  try {
    return library.spawn({ ...launch, path, args: words });
  } catch (error) {
    if (!(error instanceof SystemFailure) || error.errno !== ENOEXEC) throw error;
    return library.spawn({ ...launch, path: "/bin/sh", args: ["/bin/sh", path, ...words.slice(1)] });
  }
}
