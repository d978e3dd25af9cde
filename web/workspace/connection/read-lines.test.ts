import { expect, test } from "vitest";
import { readLines } from "./read-lines.ts";

const streamOf = (...parts: Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });

async function linesOf(stream: ReadableStream<Uint8Array>): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(stream)) lines.push(line);
  return lines;
}

const bytes = (text: string) => new TextEncoder().encode(text);

test("lines are whole wherever the chunks are split, even inside a character", async () => {
  const all = bytes("ä\nöü\r\nlast");
  const parts = [...all].map((byte) => Uint8Array.of(byte));
  expect(await linesOf(streamOf(...parts))).toEqual(["ä", "öü", "last"]);
});

test("empty lines are skipped", async () => {
  expect(await linesOf(streamOf(bytes("a\n\n\nb\n")))).toEqual(["a", "b"]);
});
