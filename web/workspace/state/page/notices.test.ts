import { afterEach, expect, test, vi } from "vitest";
import { createNotices } from "./notices.ts";

afterEach(() => void vi.useRealTimers());

const texts = ({ store }: ReturnType<typeof createNotices>) => store.getState().notices.map(({ text }) => text);

test("information disappears; warnings and errors stay until they are dismissed", () => {
  vi.useFakeTimers();
  const notices = createNotices();
  notices.info("information");
  const id = notices.warn("warning");
  notices.error("error");
  vi.advanceTimersByTime(3_600_000);
  expect(texts(notices)).toEqual(["warning", "error"]);
  notices.dismiss(id);
  expect(texts(notices)).toEqual(["error"]);
});

test("the oldest notices make room for new ones, but a warning stays", () => {
  const notices = createNotices();
  notices.warn("warning");
  for (const text of ["a", "b", "c", "d"]) notices.error(text);
  expect(texts(notices)).toEqual(["warning", "b", "c", "d"]);
});
