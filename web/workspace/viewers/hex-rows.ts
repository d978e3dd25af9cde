export const BYTES_PER_ROW = 16;

// One row of a hex dump: the offset, the bytes and the characters that they stand for.
export function hexRow(bytes: Uint8Array, offset: number): { offset: string; hex: string; text: string } {
  const pairs = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));
  while (pairs.length < BYTES_PER_ROW) pairs.push("  ");
  return {
    offset: offset.toString(16).padStart(8, "0"),
    hex: `${pairs.slice(0, 8).join(" ")}  ${pairs.slice(8).join(" ")}`,
    text: Array.from(bytes, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")).join(""),
  };
}
