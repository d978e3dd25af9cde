import type { Dir } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { BadPacket } from "./packets.ts";

// The files and folders that a client has open.
export interface Handles {
  add(opened: Opened): string;
  file(id: string): FileHandle;
  folder(id: string): OpenedFolder;
  close(id: string): Promise<void>;
  closeAll(): void;
  readonly isFull: boolean;
}

export interface OpenedFolder {
  dir: Dir;
  path: string;
}

export type Opened = FileHandle | OpenedFolder;

export const MAX_HANDLES = 128;

export function createHandles(): Handles {
  const opened = new Map<string, Opened>();
  let last = 0;
  const find = (id: string): Opened => {
    const found = opened.get(id);
    if (!found) throw new BadPacket("There is no such handle");
    return found;
  };
  const close = (one: Opened) => ("dir" in one ? one.dir.close() : one.close());
  return {
    add(one) {
      const id = String(++last);
      opened.set(id, one);
      return id;
    },
    file(id) {
      const found = find(id);
      if ("dir" in found) throw new BadPacket("This is a folder");
      return found;
    },
    folder(id) {
      const found = find(id);
      if (!("dir" in found)) throw new BadPacket("This is not a folder");
      return found;
    },
    async close(id) {
      const found = find(id);
      opened.delete(id);
      await close(found);
    },
    closeAll() {
      for (const one of opened.values()) close(one).catch(() => {});
      opened.clear();
    },
    get isFull() {
      return opened.size >= MAX_HANDLES;
    },
  };
}
