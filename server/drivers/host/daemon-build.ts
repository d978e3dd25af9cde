import { join } from "node:path";
import { readFileIfReadable } from "../../bounded-io/read-small-file.ts";

// Identifies the daemon that this server mounts into sandboxes, as a part of their recipe: after an upgrade, warm sandboxes still run
// the old daemon, so the pool replaces them. scripts/build.ts writes the file.
export const daemonBuild = (runtimeDir: string): string => readFileIfReadable(join(runtimeDir, ".sources"))?.trim() ?? "";
