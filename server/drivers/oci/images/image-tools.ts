import { existsSync } from "node:fs";
import { join } from "node:path";
import { PLAIN_PATH } from "../../host/run.ts";

const TOOLS = ["skopeo", "umoci"];

// Names what the server needs to fetch images and this machine lacks, as the end of a sentence.
export function missingTools(): string | undefined {
  const missing = TOOLS.filter((name) => !PLAIN_PATH.split(":").some((folder) => existsSync(join(folder, name))));
  if (missing.length === 0) return undefined;
  return `images need ${missing.join(" and ")}, which ${missing.length > 1 ? "are" : "is"} not installed (apt install ${missing.join(" ")})`;
}
