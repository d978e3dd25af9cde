import { expect, test } from "vitest";
import { createMessageReader, frameMessage } from "./message-frames.ts";

function read(chunks: Buffer[], maxBytes?: number): string[] {
  const messages: string[] = [];
  const reader = createMessageReader((message) => messages.push(message.toString()), maxBytes);
  for (const chunk of chunks) reader(chunk);
  return messages;
}

const two = Buffer.concat([frameMessage(Buffer.from('{"a":"ü"}')), frameMessage(Buffer.from("{}"))]);

test("messages are found however the output is split", () => {
  expect(read([two])).toEqual(['{"a":"ü"}', "{}"]);
  expect(read([...two].map((byte) => Buffer.from([byte])))).toEqual(['{"a":"ü"}', "{}"]);
});

test("other headers are ignored, and the case of the header does not matter", () => {
  const text = "Content-Type: application/vscode-jsonrpc\r\ncontent-length: 2\r\n\r\n{}";
  expect(read([Buffer.from(text)])).toEqual(["{}"]);
});

test("an empty message is a message", () => {
  expect(read([frameMessage(Buffer.alloc(0)), frameMessage(Buffer.from("{}"))])).toEqual(["", "{}"]);
});

test.each([
  ["a header without a length", "Content-Type: x\r\n\r\n{}"],
  ["an endless header", "x".repeat(5000)],
  ["a message above the limit", "Content-Length: 11\r\n\r\n"],
  ["a negative length", "Content-Length: -1\r\n\r\n"],
  ["a huge length", "Content-Length: 99999999999\r\n\r\n"],
])("%s is an error", (_what, text) => {
  expect(() => read([Buffer.from(text)], 10)).toThrow("It sent");
});
