import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readMultipart } from "./multipart.ts";

const TYPE = 'multipart/form-data; boundary="--edge"';

// Cuts the bytes at these places.
function inPieces(bytes: Buffer, cuts: number[]): Readable {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return Readable.from(places.slice(1).map((end, i) => bytes.subarray(places[i], end)));
}

async function read(bytes: Buffer, cuts: number[] = []): Promise<string[]> {
  const parts: string[] = [];
  await readMultipart(inPieces(bytes, cuts), TYPE, async ({ fileName, isFile, body }) => {
    parts.push(`${isFile ? "file" : "other"} ${fileName}: ${await text(body)}`);
  });
  return parts;
}

const part = (name: string, fileName: string, content: string) =>
  `----edge\r\ncontent-disposition: form-data; name="${name}"; filename="${fileName}"\r\ncontent-type: a/b\r\n\r\n${content}\r\n`;

test("the parts of a form are read whole, wherever the bytes are cut", async () => {
  const content = fc.string({ unit: fc.constantFrom("\r", "\n", "-", "e", "--edge", "\r\n--", "ü"), maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(fc.array(content, { maxLength: 4 }), fc.array(fc.nat(), { maxLength: 8 }), async (contents, cuts) => {
      fc.pre(contents.every((one) => !`\r\n${one}\r\n`.includes("\r\n----edge")));
      const form = `preamble${contents.length > 0 ? "\r\n" : ""}${contents.map((one, i) => part("file", `f${i}`, one)).join("")}`;
      const bytes = Buffer.from(`${form}${contents.length > 0 ? "" : "\r\n"}----edge--\r\nepilogue`);
      expect(await read(bytes, cuts)).toEqual(contents.map((one, i) => `file f${i}: ${one}`));
    }),
    { numRuns: 200 },
  );
});

test("a part that its reader gives up does not hide the next one, and names are decoded as browsers encode them", async () => {
  const bytes = Buffer.from(`${part("file", "%22a%22", "x".repeat(100_000))}${part("note", "", "n")}----edge--`);
  const names: string[] = [];
  await readMultipart(inPieces(bytes, [10, 5000]), TYPE, async ({ fileName, isFile, body }) => {
    names.push(`${isFile} ${fileName}`);
    body.destroy();
  });
  expect(names).toEqual(['true "a"', "false "]);
});

test("a form that is cut off, has no boundary or a head without an end is refused", async () => {
  const whole = part("file", "a", "content");
  for (const bytes of [whole, "", "----edge", "----edge\r\n", `----edge\r\n${"x".repeat(20_000)}`, `${whole}----edge`])
    await expect(read(Buffer.from(bytes))).rejects.toMatchObject({ code: "bad_request" });
  await expect(readMultipart(Readable.from([]), "multipart/form-data", async () => {})).rejects.toMatchObject({ code: "bad_request" });
  const many = `${part("file", "a", "").repeat(1001)}----edge--`;
  await expect(read(Buffer.from(many))).rejects.toMatchObject({ code: "bad_request" });
});
