import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sendBuildNews } from "./build-news.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a sandbox that does not answer gets one request at a time, and no request after the end", async () => {
  const answer = Promise.withResolvers<void>();
  const sent: string[] = [];
  const link = {
    async sendBuildNews(_id: string, { text }: { text: string }) {
      sent.push(text);
      await answer.promise;
    },
  };
  const news = sendBuildNews(link, "sbx_1", new AbortController().signal);
  news.add("STEP 1\n");
  await vi.advanceTimersByTimeAsync(10_000);
  news.add("STEP 2\n");
  answer.reject(new Error("it does not answer"));
  await news[Symbol.asyncDispose]();
  expect(sent).toEqual(["STEP 1\n"]);
});
