import { randomBytes } from "node:crypto";

// Unique, and cheap because every request gets one: a random part for this process and a count. An id that comes in with a
// request is ignored; callers could otherwise write into our logs.
const boot = randomBytes(6).toString("hex");
let count = 0;

export const nextRequestId = (): string => `req_${boot}${(count++).toString(36).padStart(6, "0")}`;
