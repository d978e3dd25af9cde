import { constants, type Stats } from "node:fs";
import * as fs from "node:fs/promises";
import { readAttributes, writeAttributes, longName, type Attributes } from "./attributes.ts";
import { type Handles, MAX_HANDLES } from "./handles.ts";
import { type FieldReader, int, long, MAX_PACKET_BYTES, packetOf, REPLY, REQUEST, STATUS, statusReply, text } from "./packets.ts";

export interface OperationsDeps {
  handles: Handles;
  // Where relative paths begin.
  home: string;
}

// Carries out a request and returns the reply to it.
type Operation = (id: Buffer, fields: FieldReader) => Promise<Buffer>;

const MAX_DATA_BYTES = MAX_PACKET_BYTES - 1024;
// The names in one reply.
const MAX_NAMES = 100;
const MAX_NAME_BYTES = 255;
const DEFAULT_MODE = 0o666;
const DEFAULT_FOLDER_MODE = 0o777;
// OpenSSH's extensions, with their versions.
const EXTENSIONS = { "posix-rename": 1, hardlink: 1, fsync: 1, lsetstat: 1, limits: 1, "expand-path": 1, statvfs: 2 };

export const VERSION_REPLY = packetOf(
  REPLY.version,
  int(3),
  ...Object.entries(EXTENSIONS).flatMap(([name, version]) => [text(`${name}@openssh.com`), text(String(version))]),
);

export function createOperations({ handles, home }: OperationsDeps): Record<number, Operation | undefined> {
  const homePath = Buffer.from(home).toString("latin1");
  // Reused, because V8 collects buffers late.
  let data: Buffer | null = null;

  const absolute = (path: string): string => (path.startsWith("/") ? path : `${homePath}/${path}`);
  const pathOf = (fields: FieldReader): Buffer => bytesOf(absolute(fields.text()));
  const ok = (id: Buffer): Buffer => statusReply(id, STATUS.ok);
  const attributes = (id: Buffer, stats: Stats): Buffer => packetOf(REPLY.attrs, id, writeAttributes(stats));
  const oneName = (id: Buffer, name: string): Buffer => packetOf(REPLY.name, id, int(1), text(name), text(name), int(0));
  const full = (id: Buffer): Buffer => statusReply(id, STATUS.failure, "Too many files are open");

  const extended = new Map<string, Operation>(
    Object.entries<Operation>({
      async "posix-rename@openssh.com"(id, fields) {
        await fs.rename(pathOf(fields), pathOf(fields));
        return ok(id);
      },
      async "hardlink@openssh.com"(id, fields) {
        await fs.link(pathOf(fields), pathOf(fields));
        return ok(id);
      },
      async "fsync@openssh.com"(id, fields) {
        await handles.file(fields.text()).sync();
        return ok(id);
      },
      async "lsetstat@openssh.com"(id, fields) {
        await changeLink(pathOf(fields), readAttributes(fields));
        return ok(id);
      },
      async "limits@openssh.com"(id) {
        return packetOf(REPLY.extended, id, long(MAX_PACKET_BYTES), long(MAX_DATA_BYTES), long(MAX_DATA_BYTES), long(MAX_HANDLES));
      },
      async "statvfs@openssh.com"(id, fields) {
        const { bsize, blocks, bfree, bavail, files, ffree } = await fs.statfs(pathOf(fields));
        const numbers = [bsize, bsize, blocks, bfree, bavail, files, ffree, ffree, 0, 0, MAX_NAME_BYTES];
        return packetOf(REPLY.extended, id, ...numbers.map(long));
      },
      async "expand-path@openssh.com"(id, fields) {
        const path = fields.text();
        return oneName(id, await realPath(path === "~" || path.startsWith("~/") ? homePath + path.slice(1) : absolute(path)));
      },
    }),
  );

  return {
    async [REQUEST.open](id, fields) {
      const [path, flags, { mode = DEFAULT_MODE }] = [pathOf(fields), fields.int(), readAttributes(fields)];
      if (handles.isFull) return full(id);
      // A pipe without a peer would block a thread of the daemon for ever.
      const file = await fs.open(path, openFlags(flags) | constants.O_NONBLOCK, mode);
      const isFile = (await file.stat()).isFile();
      if (isFile) return packetOf(REPLY.handle, id, text(handles.add(file)));
      await file.close();
      return statusReply(id, STATUS.failure, "Not a regular file");
    },
    async [REQUEST.close](id, fields) {
      await handles.close(fields.text());
      return ok(id);
    },
    async [REQUEST.read](id, fields) {
      const [file, position, wanted] = [handles.file(fields.text()), fields.long(), fields.int()];
      data ??= Buffer.allocUnsafe(HEAD_BYTES + MAX_DATA_BYTES);
      const { bytesRead } = await file.read(data, HEAD_BYTES, Math.min(wanted, MAX_DATA_BYTES), position);
      if (bytesRead === 0) return statusReply(id, STATUS.eof, "End of file");
      data.writeUInt32BE(HEAD_BYTES - 4 + bytesRead, 0);
      data.writeUInt8(REPLY.data, 4);
      id.copy(data, 5);
      data.writeUInt32BE(bytesRead, 9);
      return data.subarray(0, HEAD_BYTES + bytesRead);
    },
    async [REQUEST.write](id, fields) {
      const [file, position, bytes] = [handles.file(fields.text()), fields.long(), fields.bytes()];
      for (let done = 0; done < bytes.length;) done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
      return ok(id);
    },
    [REQUEST.stat]: async (id, fields) => attributes(id, await fs.stat(pathOf(fields))),
    [REQUEST.lstat]: async (id, fields) => attributes(id, await fs.lstat(pathOf(fields))),
    [REQUEST.fstat]: async (id, fields) => attributes(id, await handles.file(fields.text()).stat()),
    async [REQUEST.setstat](id, fields) {
      await change(pathOf(fields), readAttributes(fields));
      return ok(id);
    },
    async [REQUEST.fsetstat](id, fields) {
      const [file, { size, owner, mode, times }] = [handles.file(fields.text()), readAttributes(fields)];
      if (size !== undefined) await file.truncate(size);
      if (mode !== undefined) await file.chmod(mode);
      if (times) await file.utimes(times.accessed, times.modified);
      if (owner) await file.chown(owner.uid, owner.gid);
      return ok(id);
    },
    async [REQUEST.opendir](id, fields) {
      const path = absolute(fields.text());
      if (handles.isFull) return full(id);
      const dir = await fs.opendir(bytesOf(path) as unknown as string, { encoding: "latin1" });
      return packetOf(REPLY.handle, id, text(handles.add({ dir, path })));
    },
    async [REQUEST.readdir](id, fields) {
      const { dir, path } = handles.folder(fields.text());
      const names: Buffer[] = [];
      while (names.length < MAX_NAMES) {
        const entry = await dir.read();
        if (!entry) break;
        const stats = await fs.lstat(bytesOf(`${path}/${entry.name}`)).catch(() => null);
        // It was removed a moment ago.
        if (stats) names.push(Buffer.concat([text(entry.name), text(longName(entry.name, stats)), writeAttributes(stats)]));
      }
      if (names.length === 0) return statusReply(id, STATUS.eof, "End of directory");
      return packetOf(REPLY.name, id, int(names.length), ...names);
    },
    async [REQUEST.remove](id, fields) {
      await fs.unlink(pathOf(fields));
      return ok(id);
    },
    async [REQUEST.mkdir](id, fields) {
      const [path, { mode = DEFAULT_FOLDER_MODE }] = [pathOf(fields), readAttributes(fields)];
      await fs.mkdir(path, { mode });
      return ok(id);
    },
    async [REQUEST.rmdir](id, fields) {
      await fs.rmdir(pathOf(fields));
      return ok(id);
    },
    [REQUEST.realpath]: async (id, fields) => oneName(id, await realPath(absolute(fields.text()))),
    async [REQUEST.rename](id, fields) {
      const [from, to] = [pathOf(fields), pathOf(fields)];
      // The protocol does not replace a file here; posix-rename does.
      const exists = await fs.lstat(to).then(
        () => true,
        () => false,
      );
      if (exists) return statusReply(id, STATUS.failure, "File exists");
      await fs.rename(from, to);
      return ok(id);
    },
    async [REQUEST.readlink](id, fields) {
      return oneName(id, await fs.readlink(pathOf(fields), { encoding: "latin1" }));
    },
    async [REQUEST.symlink](id, fields) {
      // OpenSSH sends the target first, against the draft, and others do as it does. The target is stored as it is.
      const [target, path] = [bytesOf(fields.text()), pathOf(fields)];
      await fs.symlink(target, path);
      return ok(id);
    },
    async [REQUEST.extended](id, fields) {
      const operation = extended.get(fields.text());
      if (operation) return operation(id, fields);
      return statusReply(id, STATUS.unsupported, "This is not supported");
    },
  };
}

// The length, the type, the number of the request and the length of the data.
const HEAD_BYTES = 13;

const bytesOf = (path: string): Buffer => Buffer.from(path, "latin1");

const OPEN = { read: 1, write: 2, append: 4, create: 8, truncate: 16, exclusive: 32 };

function openFlags(flags: number): number {
  const { O_RDONLY, O_WRONLY, O_RDWR, O_APPEND, O_CREAT, O_TRUNC, O_EXCL } = constants;
  const writes = (flags & OPEN.write) !== 0;
  const access = writes ? (flags & OPEN.read ? O_RDWR : O_WRONLY) : O_RDONLY;
  const option = (wanted: number, flag: number) => (flags & wanted ? flag : 0);
  return (
    access | option(OPEN.append, O_APPEND) | option(OPEN.create, O_CREAT) | option(OPEN.truncate, O_TRUNC) | option(OPEN.exclusive, O_EXCL)
  );
}

async function change(path: Buffer, { size, owner, mode, times }: Attributes): Promise<void> {
  if (size !== undefined) await fs.truncate(path as unknown as string, size);
  if (mode !== undefined) await fs.chmod(path, mode);
  if (times) await fs.utimes(path, times.accessed, times.modified);
  if (owner) await fs.chown(path, owner.uid, owner.gid);
}

// The mode of a link cannot be changed.
async function changeLink(path: Buffer, { owner, times }: Attributes): Promise<void> {
  if (times) await fs.lutimes(path, times.accessed, times.modified);
  if (owner) await fs.lchown(path, owner.uid, owner.gid);
}

// The last part of the path need not exist.
async function realPath(path: string): Promise<string> {
  const find = (wanted: string) => fs.realpath(bytesOf(wanted), { encoding: "latin1" });
  try {
    return await find(path);
  } catch (error) {
    const [, folder, name] = /^(.*?)\/+([^/]+)\/*$/s.exec(path) ?? [];
    if (name === undefined || name === "." || name === "..") throw error;
    const parent = await find(folder || "/");
    return `${parent === "/" ? "" : parent}/${name}`;
  }
}
