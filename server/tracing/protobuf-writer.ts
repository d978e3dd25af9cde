// Writes one message in the protobuf encoding, from its end to its start: the length of a nested message is then known when it is written
// in front of it. The caller therefore writes repeated fields from the last to the first. The order of other fields does not matter.
export interface ProtobufWriter {
  varint(field: number, value: number | bigint): void;
  // The value is an unsigned integer of 64 bits.
  fixed64(field: number, value: bigint): void;
  double(field: number, value: number): void;
  string(field: number, text: string): void;
  hex(field: number, digits: string): void;
  message(field: number, write: () => void): void;
  finish(): Buffer;
}

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const MAX_VARINT_BYTES = 10;

export function createProtobufWriter(initialBytes = 16 * 1024): ProtobufWriter {
  let buffer = Buffer.allocUnsafe(initialBytes);
  // The first byte that is written.
  let start = buffer.length;

  function reserve(bytes: number): void {
    if (bytes <= start) return;
    const written = buffer.length - start;
    const larger = Buffer.allocUnsafe(Math.max(2 * buffer.length, written + bytes));
    buffer.copy(larger, larger.length - written, start);
    start = larger.length - written;
    buffer = larger;
  }

  function prepend(bytes: number): number {
    reserve(bytes);
    start -= bytes;
    return start;
  }

  function prependVarint(value: number): void {
    let bytes = 1;
    for (let left = value; left >= 0x80; left = Math.floor(left / 0x80)) bytes++;
    let at = prepend(bytes);
    let left = value;
    for (; left >= 0x80; left = Math.floor(left / 0x80)) buffer[at++] = (left % 0x80) | 0x80;
    buffer[at] = left;
  }

  // Negative numbers are written as their complement of 64 bits.
  function prependBigVarint(value: bigint): void {
    const bytes: number[] = [];
    for (let left = BigInt.asUintN(64, value); bytes.length === 0 || left > 0n; left >>= 7n) bytes.push(Number(left & 0x7fn) | 0x80);
    bytes[bytes.length - 1]! &= 0x7f;
    reserve(MAX_VARINT_BYTES);
    buffer.set(bytes, prepend(bytes.length));
  }

  const prependTag = (field: number, type: number) => prependVarint(field * 8 + type);

  function prependLength(field: number, bytes: number): void {
    prependVarint(bytes);
    prependTag(field, LENGTH_DELIMITED);
  }

  return {
    varint(field, value) {
      if (typeof value === "number" && value >= 0) prependVarint(value);
      else prependBigVarint(BigInt(value));
      prependTag(field, VARINT);
    },
    fixed64(field, value) {
      const at = prepend(8);
      buffer.writeBigUInt64LE(value, at);
      prependTag(field, FIXED64);
    },
    double(field, value) {
      const at = prepend(8);
      buffer.writeDoubleLE(value, at);
      prependTag(field, FIXED64);
    },
    string(field, text) {
      const bytes = Buffer.byteLength(text);
      const at = prepend(bytes);
      buffer.write(text, at);
      prependLength(field, bytes);
    },
    hex(field, digits) {
      const at = prepend(digits.length / 2);
      buffer.write(digits, at, "hex");
      prependLength(field, digits.length / 2);
    },
    message(field, write) {
      const fromEnd = buffer.length - start;
      write();
      prependLength(field, buffer.length - start - fromEnd);
    },
    finish: () => buffer.subarray(start),
  };
}
