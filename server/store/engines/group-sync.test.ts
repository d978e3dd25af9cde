import { expect, test } from "vitest";
import { createGroupSync } from "./group-sync.ts";

test("callers that arrive during a sync share the next one", async () => {
  const { syncs, groupSync } = start();
  const first = groupSync();
  await expect.poll(() => syncs.length).toBe(1);
  let done = 0;
  const others = [groupSync(), groupSync(), groupSync()].map((one) => one.then(() => done++));
  syncs[0]!.resolve();
  await first;
  await expect.poll(() => syncs.length).toBe(2);
  expect(done).toBe(0);
  syncs[1]!.resolve();
  await Promise.all(others);
  expect(syncs.length).toBe(2);
});

test("a failed sync fails its callers and no others", async () => {
  const { syncs, groupSync } = start();
  const failing = groupSync();
  await expect.poll(() => syncs.length).toBe(1);
  const other = groupSync();
  syncs[0]!.reject(new Error("EIO"));
  await expect(failing).rejects.toThrow("EIO");
  await expect.poll(() => syncs.length).toBe(2);
  syncs[1]!.resolve();
  await other;
});

function start() {
  const syncs: PromiseWithResolvers<void>[] = [];
  const groupSync = createGroupSync(() => {
    const sync = Promise.withResolvers<void>();
    syncs.push(sync);
    return sync.promise;
  });
  return { syncs, groupSync };
}
