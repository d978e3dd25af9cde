import { expect, test } from "vitest";
import type { WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import { canExtend, createSessionStore, describeTimeout, formatTimeLeft, isReconnecting, timeLeftMs } from "./session-store.ts";

const session = (change: Partial<WorkspaceSession>): WorkspaceSession => ({
  visitor: { role: "editor", displayName: null },
  hasSupportVisit: false,
  sessionId: "ses_1",
  sandboxId: "sbx_1",
  status: "running",
  reason: null,
  generation: 1,
  partnerName: "Acme",
  settingsOwner: "user",
  embedOrigins: [],
  branding: { logo: null, accent: null, hideAgent: false, offerSsh: false },
  expiresAtMs: 100_000,
  idlePause: null,
  onTimeout: "pause",
  extendUntilMs: null,
  autoResume: false,
  source: null,
  isSettingUp: false,
  serverNowMs: 40_000,
  previewUrl: null,
  ...change,
});

test("an older generation changes nothing", () => {
  const { store, update } = createSessionStore();
  update(session({ generation: 3, status: "paused" }));
  update(session({ generation: 2, status: "running" }));
  expect(store.getState().phase).toBe("paused");
});

test("the time left follows the server's clock, not the browser's", () => {
  const { store, update } = createSessionStore(() => 5_000_000);
  update(session({}));
  expect(timeLeftMs(store.getState(), 5_000_000)).toBe(60_000);
  expect(timeLeftMs(store.getState(), 9_000_000)).toBe(0);
});

test("a lost connection is shown only while the session runs", () => {
  const { store, update, eventsDisconnected } = createSessionStore();
  update(session({}));
  eventsDisconnected();
  expect(isReconnecting(store.getState())).toBe(true);
  update(session({ generation: 2, status: "paused" }));
  expect(isReconnecting(store.getState())).toBe(false);
});

test("the time left is rounded to what a person would say", () => {
  expect([30_500, 121_000, 3_600_900, 5_400_000].map(formatTimeLeft)).toEqual(["31 s left", "2 min left", "1 h left", "1 h 30 min left"]);
});

test("the warning before the timeout says when the session pauses, what stops and who can resume it", () => {
  const halfPastSix = new Date(2026, 0, 1, 18, 30).getTime();
  const { store, update } = createSessionStore(() => halfPastSix - 60_000);
  // The server's clock is an hour ahead.
  update(session({ serverNowMs: halfPastSix - 60_000 + 3_600_000, expiresAtMs: halfPastSix + 3_600_000 }));
  const warning = describeTimeout(store.getState());
  expect(warning).toMatch(/paused at (18|06):30/);
  expect(warning).toContain("Programs stop");
  expect(warning).toContain("Acme can resume");
  update(session({ autoResume: true }));
  expect(describeTimeout(store.getState())).toContain("you can resume");
  update(session({ onTimeout: "destroy", autoResume: true }));
  expect(describeTimeout(store.getState())).toMatch(/will end at .*files will be deleted/);
  expect(describeTimeout(store.getState())).not.toMatch(/paused|resume/);
  update(session({ generation: 2, status: "paused", expiresAtMs: null }));
  expect(describeTimeout(store.getState())).toBeNull();
});

test("a person can extend the session only if there is at least a minute to gain", () => {
  const { store, update } = createSessionStore();
  const canExtendUntil = (extendUntilMs: number | null) => {
    update(session({ extendUntilMs }));
    return canExtend(store.getState());
  };
  expect([null, 100_000, 159_999, 160_000].map(canExtendUntil)).toEqual([false, false, false, true]);
});
