import type { ConsoleSession } from "@berth/contract/console.ts";

// The list after a refresh: rows that are newer than the first one are put before it, and known rows are replaced by what was read.
export function mergeRows(
  rows: readonly ConsoleSession[],
  head: readonly ConsoleSession[],
  shown: readonly ConsoleSession[],
): readonly ConsoleSession[] {
  const read = new Map([...head, ...shown].map((row) => [row.id, row]));
  const known = new Set(rows.map(({ id }) => id));
  const first = rows[0];
  const added = head.filter(({ id, createdAt }) => !known.has(id) && (!first || createdAt >= first.createdAt));
  const hasChanged = added.length > 0 || rows.some((row) => read.has(row.id) && !isSame(row, read.get(row.id)!));
  return hasChanged ? [...added, ...rows.map((row) => read.get(row.id) ?? row)] : rows;
}

const isSame = (a: ConsoleSession, b: ConsoleSession): boolean =>
  a.updatedAt === b.updatedAt && a.state === b.state && a.expiresAt === b.expiresAt;
