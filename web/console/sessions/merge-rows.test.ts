import { expect, test } from "vitest";
import type { ConsoleSession } from "@berth/contract/console.ts";
import { mergeRows } from "./merge-rows.ts";

const row = (at: number, changes: Partial<ConsoleSession> = {}): ConsoleSession => ({
  id: `ses_${at}`,
  sandboxId: `sbx_${at}`,
  partnerId: "acme",
  externalUserId: "ada",
  status: "running",
  state: "running",
  isHibernated: false,
  template: "default",
  host: null,
  stopReason: null,
  createdAt: new Date(at).toISOString(),
  updatedAt: new Date(at).toISOString(),
  expiresAt: null,
  ...changes,
});

test("new sessions are put at the top, and changed ones are replaced in their place", () => {
  const paused = row(2, { status: "paused", state: "paused", updatedAt: new Date(9).toISOString() });
  const merged = mergeRows([row(3), row(2), row(1)], [row(4), row(3)], [paused]);
  expect(merged).toEqual([row(4), row(3), paused, row(1)]);
});

test("the list stays the same object if nothing changed, so that nothing is rendered again", () => {
  const rows = [row(2), row(1)];
  expect(mergeRows(rows, [row(2), row(1)], [row(1)])).toBe(rows);
});

test("an older session that was not loaded yet is left to its page", () => {
  expect(mergeRows([row(5)], [row(5), row(4)], [])).toEqual([row(5)]);
});
