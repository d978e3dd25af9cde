import { hash, randomBytes } from "node:crypto";

// An API key: 32 random bytes behind a prefix that secret scanners can look for.
export const KEY_PATTERN = /^berth_[0-9a-f]{64}$/;

export const newKey = () => `berth_${randomBytes(32).toString("hex")}`;

// 256 random bits need no slow hash: nobody can try them all.
export const hashKey = (key: string) => hash("sha256", key, "hex");

// What a list shows of a key: enough to recognize it, too little to use it.
export const hintOf = (key: string) => `${key.slice(0, 10)}…${key.slice(-4)}`;
