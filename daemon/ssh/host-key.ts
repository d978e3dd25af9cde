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
  const created = createKey();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  replaceFile(file, [created.secret], { sync: true });
  return created;
}

const MAX_TRIES = 10;

// The library writes a public key that begins with a zero without it, so that it cannot read one of 256 keys again.
export function createKey(): HostKey {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const key = parseKey(Buffer.from(keygen.generateKeyPairSync("ed25519").private));
    if (key) return key;
  }
  throw new Error("No host key could be created");
}

function readKey(file: string): HostKey | null {
  try {
    return parseKey(readFileSync(file));
  } catch {
    return null;
  }
}

function parseKey(secret: Buffer): HostKey | null {
  const key = keyParser.parseKey(secret);
  if (key instanceof Error || key.type !== "ssh-ed25519" || !key.isPrivateKey()) return null;
  return { secret, public: `${key.type} ${key.getPublicSSH().toString("base64")}` };
}
