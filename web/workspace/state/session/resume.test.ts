import { expect, test, vi } from "vitest";
import type { WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import { ApiError } from "../../connection/api.ts";
import { createResume, resumeWhenSeen } from "./resume.ts";

test("two clicks send one request, and its answer is shown", async () => {
  const answer = Promise.withResolvers<WorkspaceSession>();
  const resume = vi.fn<() => Promise<WorkspaceSession>>(() => answer.promise);
  const onSession = vi.fn<(session: WorkspaceSession) => void>();
  const { start, store } = createResume({ resume, onSession });
  const clicks = [start(), start()];
  expect(store.getState()).toEqual({ isResuming: true, failure: null });
  answer.resolve({ status: "running" } as WorkspaceSession);
  await Promise.all(clicks);
  expect([resume.mock.calls.length, onSession.mock.calls]).toEqual([1, [[{ status: "running" }]]]);
  expect(store.getState()).toEqual({ isResuming: false, failure: null });
});

test("a failure is explained, and the next attempt may succeed", async () => {
  const resume = vi.fn<() => Promise<WorkspaceSession>>();
  resume.mockRejectedValueOnce(new ApiError(503, "capacity_reached", "The limit of 5 sandboxes is reached"));
  resume.mockResolvedValueOnce({} as WorkspaceSession);
  const { start, store } = createResume({ resume, onSession: () => {} });
  await start();
  expect(store.getState().failure).toBe("There is no room for this session at the moment. Try again in a minute.");
  await start();
  expect(store.getState().failure).toBeNull();
});

test("a page in the background resumes the session only when a person looks at it", () => {
  const start = vi.fn<() => Promise<void>>().mockResolvedValue();
  resumeWhenSeen({ start }, Object.assign(new EventTarget(), { hidden: false }) as unknown as Document);
  expect(start).toHaveBeenCalledTimes(1);
  const hidden = Object.assign(new EventTarget(), { hidden: true }) as unknown as Document;
  resumeWhenSeen({ start }, hidden);
  expect(start).toHaveBeenCalledTimes(1);
  for (let i = 0; i < 2; i++) (hidden as unknown as EventTarget).dispatchEvent(new Event("visibilitychange"));
  expect(start).toHaveBeenCalledTimes(2);
});
