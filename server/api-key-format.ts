import { hash, randomBytes } from "node:crypto";

// An API key: a prefix that secret scanners recognise, and 32 random bytes.
export const KEY_PATTERN = /^berth_[0-9a-f]{64}$/;

export const newKey = () => `berth_${randomBytes(32).toString("hex")}`;

// A token with which an operator signs in to the console.
export const newOperatorToken = () => `berth_op_${randomBytes(32).toString("hex")}`;

// A fast hash is enough, because 256 random bits cannot be guessed.
export const hashKey = (key: string) => hash("sha256", key, "hex");

// A shortened key for lists: enough to recognise it, too little to use it.
export const hintOf = (key: string) => `${key.slice(0, 10)}…${key.slice(-4)}`;
