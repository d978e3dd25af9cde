import { createCipheriv, createDecipheriv, createHash, createSecretKey, hkdfSync, type KeyObject, randomBytes } from "node:crypto";

// Encryption and signing keys that are derived from the master keys, newest first. The newest one encrypts and signs; older
// ones still decrypt and verify, so that a key can be rotated while the service runs.
export interface Secrets {
  // A 32-byte key for one purpose from each master key, newest first. With a Buffer in place of the object, each signature
  // takes four times as long: Node then creates an exception inside, with its stack.
  derive(label: string): KeyObject[];
  // Encrypts with AES-256-GCM. `context` is authenticated too, so a value sealed for one row cannot be copied to another.
  seal(text: string, context: string): string;
  open(sealed: string, context: string): string;
}

export function createSecrets(masterKeys: readonly Buffer[]): Secrets {
  const cache = new Map<string, KeyObject[]>();
  const derive = (label: string): KeyObject[] => {
    let keys = cache.get(label);
    if (!keys) cache.set(label, (keys = masterKeys.map((key) => deriveKey(key, label))));
    return keys;
  };
  return {
    derive,
    seal: (text, context) => sealWith(derive("seal-v1")[0]!, text, context),
    open(sealed, context) {
      for (const key of derive("seal-v1")) {
        const text = openWith(key, sealed, context);
        if (text !== null) return text;
      }
      throw new Error("A stored secret cannot be decrypted with any master key. Was BERTH_MASTER_KEY changed?");
    },
  };
}

export const newToken = (): string => randomBytes(32).toString("base64url");

export const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex");

const deriveKey = (masterKey: Buffer, label: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync("sha256", masterKey, "berth", label, 32)));

function sealWith(key: KeyObject, text: string, context: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return `v1.${sealed.toString("base64url")}`;
}

function openWith(key: KeyObject, sealed: string, context: string): string | null {
  const bytes = Buffer.from(sealed.slice(3), "base64url");
  if (!sealed.startsWith("v1.") || bytes.length < 28) return null;
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12)).setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(-16));
  try {
    return decipher.update(bytes.subarray(12, -16), undefined, "utf8") + decipher.final("utf8");
  } catch {
    return null;
  }
}
