// Node 18 has Web Crypto only as a module. The name is not a literal, so that bundlers for browsers do not look for it.
const NODE_MODULE = "node:crypto";

type WebCrypto = typeof globalThis.crypto;

export async function webCrypto(): Promise<WebCrypto> {
  const { crypto } = globalThis as { crypto?: WebCrypto };
  if (crypto) return crypto;
  const { webcrypto } = (await import(NODE_MODULE)) as { webcrypto: WebCrypto };
  return webcrypto;
}

// A UUID. Not `randomUUID`, which browsers have on https pages only.
export async function randomId(): Promise<string> {
  const bytes = (await webCrypto()).getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return toHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export async function sha256(text: string): Promise<string> {
  const digest = await (await webCrypto()).subtle.digest("SHA-256", new TextEncoder().encode(text));
  return toHex(new Uint8Array(digest));
}

const toHex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
