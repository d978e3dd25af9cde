import { isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";

// Reads the first bytes of a stream of UTF-8, and ends it. The last character is whole, if there is one.
export async function readStart(
  body: Readable,
  maxBytes: number,
): Promise<{ text: string; bytes: number; isCut: boolean; isText: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) break;
    }
  } finally {
    body.destroy();
  }
  const all = Buffer.concat(chunks);
  const isCut = all.length > maxBytes;
  const taken = isCut ? all.subarray(0, wholeCharacters(all, maxBytes)) : all;
  return { text: taken.toString(), bytes: taken.length, isCut, isText: !taken.includes(0) && isUtf8(taken) };
}

function wholeCharacters(bytes: Buffer, end: number): number {
  let whole = end;
  // The byte after the end begins a character, unless it continues one.
  while (whole > end - 4 && (bytes[whole]! & 0xc0) === 0x80) whole--;
  return whole === end - 4 ? end : whole;
}
