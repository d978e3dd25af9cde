// The packets of SFTP, version 3 (draft-ietf-secsh-filexfer-02). Texts are byte strings (latin1), because names of files need not be UTF-8.

export const REQUEST = {
  init: 1,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  extended: 200,
} as const;

export const REPLY = { version: 2, status: 101, handle: 102, data: 103, name: 104, attrs: 105, extended: 201 } as const;

export const STATUS = { ok: 0, eof: 1, noSuchFile: 2, permissionDenied: 3, failure: 4, badMessage: 5, unsupported: 8 } as const;

// The largest packet of either side, without its length.
export const MAX_PACKET_BYTES = 256 * 1024;

// A request that cannot be read.
export class BadPacket extends Error {}

// Reads the fields of a packet, one after the other.
export interface FieldReader {
  byte(): number;
  int(): number;
  long(): number;
  bytes(): Buffer;
  text(): string;
  readonly isAtEnd: boolean;
}

export function readFields(packet: Buffer): FieldReader {
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > packet.length) throw new BadPacket("The packet is too short");
    at += length;
    return packet.subarray(at - length, at);
  };
  const int = () => take(4).readUInt32BE();
  const bytes = () => take(int());
  return {
    byte: () => take(1).readUInt8(),
    int,
    long() {
      const value = take(8).readBigUInt64BE();
      if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new BadPacket("The number is too large");
      return Number(value);
    },
    bytes,
    text() {
      const text = bytes().toString("latin1");
      if (text.includes("\0")) throw new BadPacket("The text contains a NUL character");
      return text;
    },
    get isAtEnd() {
      return at === packet.length;
    },
  };
}

export const int = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
};

export const long = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
};

export const text = (value: string): Buffer => Buffer.concat([int(value.length), Buffer.from(value, "latin1")]);

export function packetOf(type: number, ...fields: Buffer[]): Buffer {
  const length = fields.reduce((sum, field) => sum + field.length, 1);
  return Buffer.concat([int(length), Buffer.of(type), ...fields]);
}

export const statusReply = (id: Buffer, status: number, message = ""): Buffer =>
  packetOf(REPLY.status, id, int(status), text(message), text("en"));

// Splits a stream into packets without their length.
export interface PacketSplitter {
  push(bytes: Buffer): void;
  // null: there is no complete packet yet.
  next(): Buffer | null;
  readonly size: number;
}

export function splitPackets(): PacketSplitter {
  let parts: Buffer[] = [];
  let size = 0;
  // Joins only what is needed for `length` bytes, so that many small parts are not copied again and again.
  const peek = (length: number): Buffer | null => {
    if (size < length) return null;
    if ((parts[0]?.length ?? 0) < length) parts = [Buffer.concat(parts)];
    return parts[0] ?? null;
  };
  return {
    push(bytes) {
      parts.push(bytes);
      size += bytes.length;
    },
    next() {
      const length = peek(4)?.readUInt32BE();
      if (length === undefined) return null;
      if (length === 0 || length > MAX_PACKET_BYTES) throw new BadPacket("The packet is too long");
      const first = peek(4 + length);
      if (!first) return null;
      size -= 4 + length;
      parts[0] = first.subarray(4 + length);
      if (parts[0].length === 0) parts.shift();
      return first.subarray(4, 4 + length);
    },
    get size() {
      return size;
    },
  };
}
