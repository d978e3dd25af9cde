import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import type { Socket } from "node:net";
import { AppError } from "@berth/contract";
import { connectSocket } from "../../bounded-io/connect-socket.ts";

// Linux: a descriptor that only refers to the file. Opening it does not block on a FIFO and has no effect on a device.
const O_PATH = 0x200000;

// Connects to the Unix socket at `path`. The sandbox controls the last part of the path, so a symbolic link, a FIFO or a device
// in its place is refused. There is no race between this check and the connection, because both use one open descriptor. (The
// descriptor also avoids the limit of 108 bytes for socket paths.) `isStillOwned` is called after the file is opened. It is for
// paths that may have changed their meaning, such as /proc/{pid}/root, whose process id may have been reused.
export async function dialSocketFile(path: string, signal: AbortSignal, isStillOwned: () => boolean = () => true): Promise<Socket> {
  signal.throwIfAborted();
  let descriptor: number | undefined;
  try {
    let address = path;
    if (process.platform === "linux") {
      descriptor = openSync(path, O_PATH | constants.O_NOFOLLOW);
      address = `/proc/self/fd/${descriptor}`;
    }
    const file = descriptor === undefined ? lstatSync(path) : fstatSync(descriptor);
    if (!file.isSocket()) throw new Error(`${path} is not a socket`);
    if (!isStillOwned()) throw new Error(`${path} no longer belongs to the sandbox`);
    return await connectSocket({ path: address }, signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new AppError("sandbox_unreachable", { cause: error });
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
