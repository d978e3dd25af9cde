import { expect, test } from "vitest";
import { createFileHistory } from "./file-history.ts";

test("an undo waits for the changes that are under way, also after a failed one", async () => {
  const fileHistory = createFileHistory();
  const { promise, resolve } = Promise.withResolvers<void>();
  const failed = fileHistory.run(() => Promise.reject(new Error("refused")));
  const work = fileHistory.run(async () => {
    await promise;
    fileHistory.add({ text: "Moved a.txt", undo: async () => {} });
  });
  const last = fileHistory.settled().then(() => fileHistory.last()?.text);
  resolve();
  await expect(failed).rejects.toThrow("refused");
  await work;
  expect(await last).toBe("Moved a.txt");
});
