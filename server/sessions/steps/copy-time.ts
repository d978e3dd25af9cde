import { MINUTE, SECOND } from "../../clock.ts";

// A slow disk copies this much in a second.
const SLOW_BYTES_PER_SECOND = 20 * 2 ** 20;
// The copy of a fork is kept for half an hour (LEASE_MS in snapshot-work.ts).
const LONGEST_MS = 25 * MINUTE;

// The time that a create gets for the files of a snapshot. Not every cluster reports the size of a snapshot; then it is the longest.
export const copyTime = (bytes: number | null): number =>
  bytes === null ? LONGEST_MS : Math.min(LONGEST_MS, Math.ceil(bytes / SLOW_BYTES_PER_SECOND) * SECOND);
