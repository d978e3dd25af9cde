import { missingPrograms } from "../../host/missing-programs.ts";
import { kindOf } from "../runtime/runtime-kinds.ts";

const PROGRAMS = ["buildah", "skopeo"];

// Why this machine cannot build images, as the end of a sentence. null: it can.
export function buildRefusal(runtime: string): string | null {
  if (process.getuid?.() !== 0) return "the server does not run as root, and a build needs the user ids of a whole image.";
  if (kindOf(runtime).opaque) return "buildah does not run under gVisor.";
  const missing = missingPrograms(PROGRAMS);
  return missing.length > 0
    ? `the server has no ${missing.join(" and no ")}. An operator can install it (apt-get install ${missing.join(" ")}).`
    : null;
}
