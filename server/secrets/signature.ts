import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";

// HMAC-SHA256 of the lines, as base64url text.
export const signLines = (key: KeyObject, lines: readonly (string | number)[]): string =>
  createHmac("sha256", key).update(lines.join("\n")).digest("base64url");

// Compares signatures as text, in constant time. Decoding first would accept variants, because the last base64url
// character has unused bits.
export function isSameSignature(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
