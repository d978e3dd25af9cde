import { randomBytes } from "node:crypto";

// Ids are a random prefix of this process and a counter: unique, and cheaper than a random id per request. The server
// ignores ids that callers send, because callers could otherwise forge log entries.
const processPrefix = randomBytes(6).toString("hex");
let count = 0;

export const nextRequestId = (): string => `req_${processPrefix}${(count++).toString(36).padStart(6, "0")}`;
