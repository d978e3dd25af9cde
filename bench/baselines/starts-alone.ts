import { machineMs } from "../support/processor-time.ts";
import { startBareDaemon } from "./bare-daemon.ts";
import type { RawContainers } from "./raw-container.ts";

// The processor time of one `runc run` and one start of the daemon: the start of a sandbox without a disk, ids, a row and a request. The
// kernel counts in steps of 10 ms, so it is the average of `count` of both.
export async function startsAloneMs(raw: RawContainers, count: number): Promise<number> {
  const beforeMs = machineMs();
  for (let i = 0; i < count; i++) {
    await raw.run(["/bin/sh", "-c", ":"]);
    await startBareDaemon();
  }
  return (machineMs() - beforeMs) / count;
}

// The same for whole sandboxes without a server: from their start over their first calls to their end.
export async function sandboxesAloneMs(raw: RawContainers, count: number, command?: string): Promise<number> {
  const beforeMs = machineMs();
  for (let i = 0; i < count; i++) await raw.runSandbox(command);
  return (machineMs() - beforeMs) / count;
}
