import { expect, test } from "vitest";
import { createResolve } from "./resolve.ts";

// A system resolver whose answers the test controls.
function openHost() {
  const asked: { host: string; answer: (addresses: string[]) => void; fail: (error: Error) => void }[] = [];
  let nowMs = 0;
  const resolve = createResolve(["git.internal:443", "slow.internal", "10.0.0.1"], {
    lookUp(host) {
      const { promise, resolve: answer, reject: fail } = Promise.withResolvers<string[]>();
      asked.push({ host, answer, fail });
      return promise;
    },
    nowMs: () => nowMs,
  });
  return { asked, resolve, pass: (ms: number) => void (nowMs += ms) };
}

test("concurrent requests for an allowed name cause one lookup", async () => {
  const { asked, resolve, pass } = openHost();
  const answers = Array.from({ length: 100 }, () => resolve("git.internal"));
  await expect.poll(() => asked.length).toBe(1);
  asked[0]!.answer(["10.0.0.7"]);
  expect(new Set((await Promise.all(answers)).flat())).toEqual(new Set(["10.0.0.7"]));
  expect(await resolve("git.internal")).toEqual(["10.0.0.7"]);
  expect(asked).toHaveLength(1);
  pass(10_001);
  const later = resolve("git.internal");
  await expect.poll(() => asked.length).toBe(2);
  asked[1]!.answer(["10.0.0.8"]);
  expect(await later).toEqual(["10.0.0.8"]);
});

test("allowed names are looked up one at a time", async () => {
  const { asked, resolve } = openHost();
  const slow = resolve("slow.internal");
  const git = resolve("git.internal");
  await expect.poll(() => asked.length).toBe(1);
  asked[0]!.fail(new Error("EAI_AGAIN"));
  await expect(slow).rejects.toThrow("EAI_AGAIN");
  await expect.poll(() => asked.length).toBe(2);
  asked[1]!.answer(["10.0.0.7"]);
  expect(await git).toEqual(["10.0.0.7"]);
  await expect(resolve("slow.internal")).rejects.toThrow("EAI_AGAIN");
  expect(asked).toHaveLength(2);
});

test("other names are not looked up with the system resolver", async () => {
  const { asked, resolve } = openHost();
  // Present in the hosts file of every machine.
  await resolve("localhost");
  expect(asked).toEqual([]);
});
