import { existsSync } from "node:fs";
import { join } from "node:path";
import { PLAIN_PATH } from "./run.ts";

// The programs among `names` that `run` would not find on this machine.
export const missingPrograms = (names: readonly string[]): string[] =>
  names.filter((name) => !PLAIN_PATH.split(":").some((folder) => existsSync(join(folder, name))));
