import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";

// The background class of the kernel, `cpu.idle`: groups in it get the processor time that nothing else wants. Any other process
// that wakes up replaces theirs at once, whereas it would wait for the end of a time slice of an ordinary group.
export interface BackgroundClass {
  has(name: string): boolean;
  // Returns the weight to be restored by `leave`, or undefined if the group has ended or the kernel, before Linux 5.15, has no such
  // class.
  enter(name: string): string | undefined;
  // Without a weight, the group gets the one that belongs to its quota. No-op if the group has ended.
  leave(name: string, weight?: string): void;
}

export interface BackgroundClassFiles {
  // The mount point of the hierarchy.
  root: string;
  weightFile: "cpu.shares" | "cpu.weight";
  weightForQuota(name: string): string;
}

export function createBackgroundClass({ root, weightFile, weightForQuota }: BackgroundClassFiles): BackgroundClass {
  const fileOf = (name: string, file: string) => join(root, name, file);
  return {
    has: (name) => readFileIfReadable(fileOf(name, "cpu.idle"))?.trim() === "1",
    enter(name) {
      const weight = readFileIfReadable(fileOf(name, weightFile))?.trim();
      return weight !== undefined && writeIfPossible(fileOf(name, "cpu.idle"), "1") ? weight : undefined;
    },
    leave(name, weight = weightForQuota(name)) {
      // The kernel sets the default weight, which is that of the server, so this order leaves the group heavy for a moment. It
      // refuses the opposite order.
      if (writeIfPossible(fileOf(name, "cpu.idle"), "0")) writeIfPossible(fileOf(name, weightFile), weight);
    },
  };
}

// Returns false if the file does not exist, or its group ends at this moment.
function writeIfPossible(path: string, text: string): boolean {
  if (!existsSync(path)) return false;
  try {
    writeFileSync(path, text);
    return true;
  } catch (error) {
    if (["ENOENT", "ENODEV"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}
