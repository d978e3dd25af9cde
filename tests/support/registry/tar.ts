// Tar files as bytes. A test decides every field, so that they can also be hostile.
export interface TarEntry {
  // As it is written into the header: also `/etc/passwd` or `../escape`.
  path: string;
  type?: "file" | "folder" | "symlink" | "hardlink" | "device" | "fifo";
  content?: string | Buffer;
  // The target of a link.
  target?: string;
  mode?: number;
  uid?: number;
  gid?: number;
  // The header's size, if it is not that of the content.
  sizeBytes?: number;
  // A GNU sparse file of this size, without any data.
  sparseBytes?: number;
}

const BLOCK = 512;
const TYPES = { file: "0", hardlink: "1", symlink: "2", device: "3", folder: "5", fifo: "6" };

export function tarFile(entries: readonly TarEntry[]): Buffer {
  return Buffer.concat([...entries.flatMap(tarEntry), Buffer.alloc(2 * BLOCK)]);
}

function tarEntry(entry: TarEntry): Buffer[] {
  const content = Buffer.from(entry.content ?? "");
  return [tarHeader(entry), content, Buffer.alloc(-content.length & (BLOCK - 1))];
}

export function tarHeader(entry: TarEntry): Buffer {
  const { path, type = "file", target = "", uid = 0, gid = 0, sparseBytes } = entry;
  if (path.length > 100 || target.length > 100) throw new Error(`too long for a plain tar header: ${path}`);
  const header = Buffer.alloc(BLOCK);
  const put = (text: string, at: number) => header.write(text, at, "latin1");
  put(path, 0);
  put(octal(entry.mode ?? (type === "folder" ? 0o755 : 0o644), 8), 100);
  put(octal(uid, 8), 108);
  put(octal(gid, 8), 116);
  writeNumber(header, entry.sizeBytes ?? Buffer.byteLength(entry.content ?? ""), 124);
  put(octal(0, 12), 136);
  put(sparseBytes === undefined ? TYPES[type] : "S", 156);
  put(target, 157);
  put(sparseBytes === undefined ? "ustar\x0000" : "ustar  \0", 257);
  // The numbers of /dev/mem, which no sandbox may read.
  if (type === "device") put(octal(1, 8) + octal(1, 8), 329);
  if (sparseBytes !== undefined) {
    // The only piece of the file begins at its end and has no bytes.
    writeNumber(header, sparseBytes, 386);
    writeNumber(header, 0, 398);
    writeNumber(header, sparseBytes, 483);
  }
  put("        ", 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, "0")}\0`;

// Numbers that do not fit into eleven octal digits are written as bytes, as GNU tar does.
function writeNumber(header: Buffer, value: number, at: number): void {
  if (value < 8 ** 11) header.write(octal(value, 12), at, "latin1");
  else {
    header[at] = 0x80;
    header.writeBigUInt64BE(BigInt(value), at + 4);
  }
}
