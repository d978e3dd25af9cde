import { closeSync, openSync, readSync } from "node:fs";

// A small file of /proc or /sys that is read again and again. It stays open, because opening and closing it takes longer than reading it.
export interface KeptFile extends Disposable {
  // undefined when it cannot be read for any reason. A file that was removed and created again is opened again.
  read(): string | undefined;
}

const MAX_BYTES = 4096;
const buffer = Buffer.alloc(MAX_BYTES);

export function keepFile(path: string): KeptFile {
  let descriptor: number | undefined;

  function readOpen(): string | undefined {
    try {
      descriptor ??= openSync(path, "r");
      return buffer.toString("latin1", 0, readSync(descriptor, buffer, 0, MAX_BYTES, 0));
    } catch {
      close();
      return undefined;
    }
  }

  function close(): void {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  }

  return {
    read() {
      const wasOpen = descriptor !== undefined;
      return readOpen() ?? (wasOpen ? readOpen() : undefined);
    },
    [Symbol.dispose]: close,
  };
}
