import { missingPrograms } from "../../../host/missing-programs.ts";

const TOOLS = ["skopeo", "umoci"];

// Names the missing programs that fetch images, as the end of a sentence. undefined: none is missing.
export function missingTools(): string | undefined {
  const missing = missingPrograms(TOOLS);
  if (missing.length === 0) return undefined;
  return `images need ${missing.join(" and ")}, which ${missing.length > 1 ? "are" : "is"} not installed (apt install ${missing.join(" ")})`;
}
