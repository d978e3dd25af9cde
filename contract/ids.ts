import { createHash, randomFillSync } from "node:crypto";

// Ids are time-ordered (48 bits of milliseconds) and unguessable (80 random bits). Lowercase Crockford base32 makes them
// safe in URLs, host names and file names, and easy to read aloud.
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
export const ID_BODY = "[0-9a-hjkmnp-tv-z]{26}";

export type SessionId = `ses_${string}`;
export type SandboxId = `sbx_${string}`;
export type SnapshotId = `snp_${string}`;
export type VolumeId = `vol_${string}`;
export type RunId = `run_${string}`;
export type TokenId = `tok_${string}`;

const sessionPattern = new RegExp(`^ses_${ID_BODY}$`);
const sandboxPattern = new RegExp(`^sbx_${ID_BODY}$`);
const snapshotPattern = new RegExp(`^snp_${ID_BODY}$`);
const volumePattern = new RegExp(`^vol_${ID_BODY}$`);
const runPattern = new RegExp(`^run_${ID_BODY}$`);

export const isSessionId = (text: string): text is SessionId => sessionPattern.test(text);
export const isSandboxId = (text: string): text is SandboxId => sandboxPattern.test(text);
export const isSnapshotId = (text: string): text is SnapshotId => snapshotPattern.test(text);
export const isVolumeId = (text: string): text is VolumeId => volumePattern.test(text);
export const isRunId = (text: string): text is RunId => runPattern.test(text);

export function newId<Prefix extends string>(prefix: Prefix, nowMs: number): `${Prefix}_${string}` {
  return `${prefix}_${encodeTime(nowMs)}${encodeRandom()}`;
}

// The same id for the same text, so that a repeated insert finds the first. Not ordered by time.
export function idFrom<Prefix extends string>(prefix: Prefix, text: string): `${Prefix}_${string}` {
  return `${prefix}_${encode(createHash("sha256").update(text).digest().subarray(0, 26))}`;
}

function encodeTime(nowMs: number): string {
  let text = "";
  for (let rest = nowMs, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) text = ALPHABET[rest % 32] + text;
  return text;
}

// Random bytes in advance, because each call to draw some takes longer than the rest of an id.
const drawn = Buffer.alloc(16 * 128);
let used = drawn.length;

function encodeRandom(): string {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  return encode(drawn.subarray(used, (used += 16)));
}

function encode(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += ALPHABET[byte & 31];
  return text;
}
