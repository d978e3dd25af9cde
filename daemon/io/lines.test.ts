import { expect, test } from "vitest";
import { linesOf } from "./lines.ts";

async function read(chunks: string[], maxBytes?: number): Promise<string[]> {
  async function* stream() {
    for (const chunk of chunks) yield Buffer.from(chunk, "latin1");
  }
  const lines: string[] = [];
  for await (const line of linesOf(stream(), maxBytes)) lines.push(line);
  return lines;
}

test("lines are complete wherever the chunks split, even inside a character", async () => {
  expect(await read(["one\ntw", "o\n\nthree"])).toEqual(["one", "two", "", "three"]);
  expect(await read(["\xc3", "\xbc\n"])).toEqual(["ü"]);
  expect(await read([])).toEqual([]);
});

test("a line that is too long is skipped", async () => {
  expect(await read(["aaaa", "aaaaaaa\nok\n", "bbbbbbbbbbbb"], 8)).toEqual(["ok"]);
});
