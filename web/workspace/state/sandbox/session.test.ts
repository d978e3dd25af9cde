import { expect, test } from "vitest";
import type { WorkspaceSession } from "@berth/contract/workspace.ts";
import { createSessionStore, formatTimeLeft, isReconnecting, timeLeftMs } from "./session.ts";

const session = (change: Partial<WorkspaceSession>): WorkspaceSession => ({
  sessionId: "ses_1",
  sandboxId: "sbx_1",
  status: "running",
  reason: null,
  generation: 1,
  partnerName: "Acme",
  expiresAtMs: 100_000,
  serverNowMs: 40_000,
  previewUrl: null,
  ...change,
});

test("an older state than the one known changes nothing", () => {
  const { store, heard } = createSessionStore();
  heard(session({ generation: 3, status: "paused" }));
  heard(session({ generation: 2, status: "running" }));
  expect(store.getState().phase).toBe("paused");
});

test("time left is counted by the server's clock, whatever the browser's says", () => {
  const { store, heard } = createSessionStore(() => 5_000_000);
  heard(session({}));
  expect(timeLeftMs(store.getState(), 5_000_000)).toBe(60_000);
  expect(timeLeftMs(store.getState(), 9_000_000)).toBe(0);
});

test("a lost line is shown only while the session runs", () => {
  const { store, heard, lost } = createSessionStore();
  heard(session({}));
  lost("eventsLost", true);
  expect(isReconnecting(store.getState())).toBe(true);
  heard(session({ generation: 2, status: "paused" }));
  expect(isReconnecting(store.getState())).toBe(false);
});

test("time left reads as a person would say it", () => {
  expect([30_500, 121_000, 3_600_900, 5_400_000].map(formatTimeLeft)).toEqual(["31 s left", "2 min left", "1 h left", "1 h 30 min left"]);
});
