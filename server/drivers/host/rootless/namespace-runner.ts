import { readlinkSync } from "node:fs";
import { AppError } from "@berth/contract";
import type { FileRunner } from "../file-runner.ts";
import { mustRun, type Held } from "../run.ts";
import { commandInside, holdNamespace } from "./map-namespace.ts";
import type { SubIds } from "./sub-ids.ts";

export interface NamespaceRunner extends FileRunner, AsyncDisposable {}

const OPEN_TIMEOUT_MS = 10_000;

// Runs programs in a user namespace in which this user is root and owns all its sub-ids, so that they may change, give away and
// delete the files of its sandboxes. Such a program may change nothing that this user could not change, except files of the sub-ids.
// Without sub-ids, the files of sandboxes belong to this user, but their modes do not stop the program: a sandbox may have removed its
// own access to a folder.
export function createNamespaceRunner(subIds: SubIds | undefined): NamespaceRunner {
  let opened: Promise<Held> | undefined;

  const open = () =>
    holdNamespace(
      [{ inside: 0, of: "self" }, ...(subIds ? [{ inside: 1, of: { index: 0, count: subIds.count } }] : [])],
      subIds,
      AbortSignal.timeout(OPEN_TIMEOUT_MS),
    );

  // Opens another one if the process that held it was killed.
  async function holder(): Promise<Held> {
    const before = await opened?.catch(() => undefined);
    if (before && exists(before.pid)) return before;
    opened = open();
    return await opened;
  }

  let last: Promise<unknown> = Promise.resolve();
  // One at a time, so that two calls do not both open it.
  const nextHolder = () => {
    const next = last.then(holder, holder);
    last = next;
    return next;
  };

  return {
    direct: subIds === undefined,
    idOf(hostId) {
      if (hostId === process.getuid?.()) return 0;
      const index = subIds ? hostId - subIds.uids.first : -1;
      if (index < 0 || index >= (subIds?.count ?? 0))
        throw new AppError("sandbox_failed", { cause: new Error(`${hostId} is not one of this user's ids in /etc/subuid`) });
      return 1 + index;
    },
    async run(command, args, options = {}) {
      const { pid } = await nextHolder();
      return await mustRun(...commandInside(pid, subIds, command, args), options);
    },
    async [Symbol.asyncDispose]() {
      const held = await opened?.catch(() => undefined);
      opened = undefined;
      await held?.[Symbol.asyncDispose]();
    },
  };
}

// Also false if another process has the id now, because only a process with other ids is in another namespace.
function exists(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/user`) !== readlinkSync("/proc/self/ns/user");
  } catch {
    return false;
  }
}
