import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { SetupFiles } from "../setup-files.ts";

const LOOK_EVERY_MS = 200;

// Shows the log of a build while it is written. Resolves with the reason if the build fails. If it succeeds, the sandbox is stopped.
export async function awaitBuild(files: SetupFiles): Promise<string> {
  for (let shown = 0; ;) {
    const end = files.readBuildEnd();
    shown = showLog(files.buildLog, shown);
    if (end) return end.reason;
    await sleep(LOOK_EVERY_MS);
  }
}

// Returns how much of the log has been shown.
export function showLog(path: string, from = 0): number {
  const buffer = Buffer.alloc(64 * 1024);
  if (!existsSync(path)) return from;
  const file = openSync(path, "r");
  try {
    for (;;) {
      const bytes = readSync(file, buffer, 0, buffer.length, from);
      if (bytes === 0) return from;
      process.stdout.write(Buffer.from(buffer.subarray(0, bytes)));
      from += bytes;
    }
  } finally {
    closeSync(file);
  }
}
