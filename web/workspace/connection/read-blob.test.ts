import { expect, test } from "vitest";
import { readBlob } from "./read-blob.ts";

test("a response becomes one blob, and its progress is reported", async () => {
  const reported: number[] = [];
  const blob = await readBlob(responseOf(["abc", "", "de"]), (bytes) => reported.push(bytes));
  expect(await blob.text()).toBe("abcde");
  expect(reported.at(-1)).toBe(5);
});

test("a response that breaks off is not a file", async () => {
  await expect(readBlob(responseOf(["abc", new Error("The connection is lost.")]), () => {})).rejects.toThrow("The connection is lost.");
});

function responseOf(parts: (string | Error)[]): Response {
  const left = [...parts];
  return new Response(
    new ReadableStream({
      pull(controller) {
        const part = left.shift();
        if (part instanceof Error) controller.error(part);
        else if (part === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(part));
      },
    }),
  );
}
