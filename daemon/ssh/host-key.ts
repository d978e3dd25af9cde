import { mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import keygen from "ssh2/lib/keygen.js";
import keyParser from "ssh2/lib/protocol/keyParser.js";
import { replaceFile } from "../io/replace-file.ts";

export interface HostKey {
  // The text of the key file.
  secret: Buffer;
  // As in a known_hosts file: `ssh-ed25519 AAAA…`.
  public: string;
}

// Reads the sandbox's host key, or creates it. A file that is no key is replaced: programs in the sandbox can write to it.
export function openHostKey(file: string): HostKey {
  const found = readKey(file);
  if (found) return found;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  replaceFile(file, [Buffer.from(keygen.generateKeyPairSync("ed25519").private)], { sync: true });
  const created = readKey(file);
  if (!created) throw new Error("The host key cannot be read");
  return created;
}

function readKey(file: string): HostKey | null {
  try {
    const secret = readFileSync(file);
    const key = keyParser.parseKey(secret);
    if (key instanceof Error || key.type !== "ssh-ed25519" || !key.isPrivateKey()) return null;
    return { secret, public: `${key.type} ${key.getPublicSSH().toString("base64")}` };
  } catch {
    return null;
  }
}
