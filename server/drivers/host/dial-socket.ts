import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { AppError } from "@berth/contract";

// Linux: a descriptor that only names the file. Opening it neither blocks on a FIFO nor wakes a device.
const O_PATH = 0x200000;

// Connects to the Unix socket at `path`, whose last part is in the hands of the sandbox: a symbolic link, a FIFO or a
// device in its place is refused. What was looked at is what is connected to, because the connection goes through the
// open descriptor (which also lifts the 108 bytes limit of socket paths). `stillTheirs` is asked after the file has been
// opened, for paths that lead through something that may be replaced, such as /proc/{pid}/root.
export async function dialSocketFile(path: string, signal: AbortSignal, stillTheirs: () => boolean = () => true): Promise<Socket> {
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
    if (!stillTheirs()) throw new Error(`${path} does not belong to the sandbox any more`);
    return await connected(connect(address), signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new AppError("sandbox_unreachable", { cause: error });
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function connected(socket: Socket, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => () => {
      signal.removeEventListener("abort", onAbort);
      socket.removeListener("error", onError);
      act();
    };
    let failure: unknown;
    const fail = settle(() => {
      socket.destroy();
      reject(failure instanceof Error ? failure : new Error("aborted", { cause: failure }));
    });
    const onAbort = () => ((failure = signal.reason), fail());
    const onError = (error: Error) => ((failure = error), fail());
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", onError);
    socket.once(
      "connect",
      settle(() => resolve(socket)),
    );
  });
}
