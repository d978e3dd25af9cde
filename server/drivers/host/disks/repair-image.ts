import { open } from "node:fs/promises";
import { AppError } from "@berth/contract";
import { run } from "../run.ts";

// Where the superblock of ext4 has its state, and the bit that the kernel sets when it met an error.
const STATE_OFFSET = 1024 + 58;
const HAS_ERRORS = 2;
const REPAIR_TIMEOUT_MS = 10 * 60_000;
// e2fsck: from here on, errors are left.
const UNREPAIRED = 4;

// Repairs the file system of an image that is not mounted, if the kernel has marked it. Only safe repairs are made.
export async function repairImage(image: string, signal: AbortSignal): Promise<void> {
  if (!(await hasErrors(image))) return;
  const { code, output } = await run("e2fsck", ["-p", "-f", image], { signal, timeoutMs: REPAIR_TIMEOUT_MS });
  if (code === null || code >= UNREPAIRED)
    throw new AppError("sandbox_failed", {
      message: "The disk of this session is damaged, so it stays paused; ask the operator to repair it",
      cause: new Error(`e2fsck -p ${image} ended with ${code}: ${output.slice(0, 1000)}`),
    });
}

async function hasErrors(image: string): Promise<boolean> {
  await using file = await open(image, "r");
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, STATE_OFFSET);
  return bytesRead === 2 && (buffer.readUInt16LE() & HAS_ERRORS) !== 0;
}
