import type { ServerChannel } from "ssh2";
import { systemCode } from "../../http/errors.ts";
import { createHandles } from "./handles.ts";
import { createOperations, type OperationsDeps, VERSION_REPLY } from "./operations.ts";
import { BadPacket, int, readFields, REQUEST, splitPackets, STATUS, statusReply } from "./packets.ts";

// The client waits while more than this is unanswered.
const MAX_WAITING_BYTES = 1024 * 1024;

// Serves SFTP on a channel, one request after the other: a client sends many at once, and gets the answers in their order. It sees what
// the sandbox's user sees.
export function serveSftp(channel: ServerChannel, deps: Pick<OperationsDeps, "home">): void {
  const packets = splitPackets();
  const handles = createHandles();
  const operations = createOperations({ ...deps, handles });
  let isBusy = false;
  let hasEnded = false;
  let hasBegun = false;
  const gone = Promise.withResolvers<void>();

  channel.on("data", (bytes: Buffer) => {
    packets.push(bytes);
    if (packets.size > MAX_WAITING_BYTES) channel.pause();
    void work();
  });
  channel.on("end", () => {
    hasEnded = true;
    void work();
  });
  channel.once("close", () => {
    hasEnded = true;
    gone.resolve();
    if (!isBusy) handles.closeAll();
  });

  async function work(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    try {
      for (let packet = packets.next(); packet; packet = packets.next()) {
        if (packets.size <= MAX_WAITING_BYTES) channel.resume();
        await send(await answer(packet));
      }
    } catch {
      hasEnded = true;
    }
    isBusy = false;
    if (!hasEnded) return;
    handles.closeAll();
    channel.exit(0);
    channel.end();
  }

  async function answer(packet: Buffer): Promise<Buffer> {
    const fields = readFields(packet);
    const type = fields.byte();
    if (type === REQUEST.init) {
      if (hasBegun) throw new BadPacket("The client has begun twice");
      hasBegun = true;
      return VERSION_REPLY;
    }
    if (!hasBegun) throw new BadPacket("The client has not begun");
    const id = int(fields.int());
    try {
      const operation = operations[type];
      return operation ? await operation(id, fields) : statusReply(id, STATUS.unsupported, "This is not supported");
    } catch (error) {
      return statusReply(id, ...statusOf(error));
    }
  }

  // Resolves when the client has room for more, or is gone.
  function send(reply: Buffer): Promise<void> {
    const sent = new Promise<void>((resolve) => channel.write(reply, () => resolve()));
    return Promise.race([sent, gone.promise]);
  }
}

const CODES: Record<string, [status: number, message: string]> = {
  ENOENT: [STATUS.noSuchFile, "No such file or directory"],
  ENOTDIR: [STATUS.noSuchFile, "Not a directory"],
  EACCES: [STATUS.permissionDenied, "Permission denied"],
  EPERM: [STATUS.permissionDenied, "Operation not permitted"],
  EROFS: [STATUS.permissionDenied, "Read-only file system"],
  EEXIST: [STATUS.failure, "File exists"],
  ENOTEMPTY: [STATUS.failure, "Directory not empty"],
  EISDIR: [STATUS.failure, "Is a directory"],
  ENOSPC: [STATUS.failure, "No space left on device"],
  EDQUOT: [STATUS.failure, "Disk quota exceeded"],
};

function statusOf(error: unknown): [status: number, message: string] {
  if (error instanceof BadPacket) return [STATUS.badMessage, error.message];
  return CODES[systemCode(error) ?? ""] ?? [STATUS.failure, systemCode(error) ?? "Failure"];
}
