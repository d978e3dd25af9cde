import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import { createNotices } from "../state/page/notices.ts";
import { createSessionStore } from "../state/session/session-store.ts";
import { followIdlePause } from "./idle-pause.ts";

const MINUTE = 60_000;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openPage({ idleMinutes = 30, warnMinutes = 5 } = {}) {
  const session = createSessionStore();
  const notices = createNotices();
  const reportActivity = vi.fn<() => Promise<void>>().mockResolvedValue();
  const page = new EventTarget();
  let generation = 0;
  const use = () => {
    const atMs = Date.now() + idleMinutes * MINUTE;
    const idlePause = { atMs, warnAtMs: atMs - warnMinutes * MINUTE };
    session.update({ status: "running", generation: ++generation, serverNowMs: Date.now(), idlePause } as WorkspaceSession);
  };
  use();
  const follower = followIdlePause({ session, notices, api: { reportActivity } }, page);
  return {
    [Symbol.dispose]: () => follower[Symbol.dispose](),
    session,
    use,
    reportActivity,
    type: () => void page.dispatchEvent(new Event("keydown")),
    warnings: () => notices.store.getState().notices.map(({ text }) => text),
  };
}

test("a person's input is reported at once, and then every half minute at most", () => {
  using page = openPage();
  for (let seconds = 0; seconds < 120; seconds++) {
    page.type();
    vi.advanceTimersByTime(1000);
  }
  expect(page.reportActivity).toHaveBeenCalledTimes(4);
});

test("the page warns five minutes before, and the warning goes away when the person does something", () => {
  using page = openPage();
  vi.advanceTimersByTime(25 * MINUTE - 1000);
  expect(page.warnings()).toEqual([]);
  vi.advanceTimersByTime(2000);
  expect(page.warnings()).toEqual([expect.stringMatching(/will be paused at \d.*Press a key/)]);
  page.type();
  expect(page.warnings()).toEqual([]);
  expect(page.reportActivity).toHaveBeenCalledTimes(1);
  page.use();
  vi.advanceTimersByTime(5 * MINUTE);
  expect(page.warnings()).toEqual([]);
});

test("the warning goes away when something else uses the session, and when it is paused", () => {
  using page = openPage();
  vi.advanceTimersByTime(26 * MINUTE);
  expect(page.warnings()).toHaveLength(1);
  page.use();
  expect(page.warnings()).toEqual([]);
  vi.advanceTimersByTime(26 * MINUTE);
  expect(page.warnings()).toHaveLength(1);
  page.session.update({ status: "paused", generation: 9, serverNowMs: Date.now(), idlePause: null } as unknown as WorkspaceSession);
  expect(page.warnings()).toEqual([]);
  page.type();
  expect(page.reportActivity).not.toHaveBeenCalled();
});

test("the warning returns if the report does not reach the server", async () => {
  using page = openPage();
  page.reportActivity.mockRejectedValue(new Error("offline"));
  vi.advanceTimersByTime(26 * MINUTE);
  page.type();
  await vi.advanceTimersByTimeAsync(2000);
  expect(page.warnings()).toHaveLength(1);
});
