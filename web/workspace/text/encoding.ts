export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

export const encodingNames: Record<Encoding, string> = {
  "utf-8": "UTF-8",
  "utf-16le": "UTF-16 LE",
  "utf-16be": "UTF-16 BE",
  "windows-1252": "Windows-1252",
};

// Decodes text. Returns null unless encoding the text again gives the same bytes, so that opening and saving a file never
// changes it. A byte order mark stays in the text.
export function decodeText(bytes: Uint8Array): { text: string; encoding: Encoding } | null {
  const encoding = detectEncoding(bytes);
  if (encoding === null) return null;
  try {
    return { text: new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes), encoding };
  } catch {
    return null;
  }
}

// Throws if the encoding lacks a character of the text.
export function encodeText(text: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  if (encoding === "utf-8") return new TextEncoder().encode(text);
  if (encoding === "windows-1252") return Uint8Array.from(Array.from(text, byteOf));
  const bytes = new Uint8Array(text.length * 2);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < text.length; i++) view.setUint16(i * 2, text.charCodeAt(i), encoding === "utf-16le");
  return bytes;
}

function detectEncoding(bytes: Uint8Array): Encoding | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  if (bytes.subarray(0, 8192).includes(0)) return null;
  if (isUtf8(bytes)) return "utf-8";
  return bytes.some(isNotText) ? null : "windows-1252";
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

// Control characters other than tab, line ends, form feed and escape, and the bytes that Windows-1252 does not define.
const notText = new Set([...range(0x00, 0x08), 0x0b, ...range(0x0e, 0x1a), ...range(0x1c, 0x1f), 0x7f, 0x81, 0x8d, 0x8f, 0x90, 0x9d]);
const isNotText = (byte: number) => notText.has(byte);

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

let bytesByCharacter: Map<string, number> | null = null;

function byteOf(character: string): number {
  bytesByCharacter ??= new Map(
    Array.from(new TextDecoder("windows-1252").decode(Uint8Array.from(range(0, 255))), (each, byte) => [each, byte]),
  );
  const byte = bytesByCharacter.get(character);
  if (byte === undefined) throw new Error(`"${character}" cannot be written in Windows-1252. Convert the file to UTF-8 to keep it`);
  return byte;
}
