import { expect, test } from "vitest";
import { escapeControls, escapeExceptLayout } from "./escape-controls.ts";
import { clean } from "./output.ts";
import { prettyLog } from "./pretty-log.ts";

// Clears the screen and sets the title, in 7-bit and 8-bit form; forges a line; reverses the direction of text.
const HOSTILE = "\u001b[2J\u001b]0;owned\u0007\u009b2J\u009d0;owned\u009c\r\n12:00:00 all is well\u202egpj.exe\u2028\u007f";
const ACTIVE = /(?!\n)[\p{Cc}\u2028-\u202e]/u;

function logged(line: string): string {
  let written = "";
  prettyLog({ write: (text) => (written += text) }).write(line);
  return written;
}

test("no logged value can control the terminal", () => {
  const record = { level: 30, time: "2030-01-01T12:00:00.000Z", msg: HOSTILE, user: HOSTILE, nested: { deep: [HOSTILE] }, [HOSTILE]: 1 };
  const line = logged(`${JSON.stringify(record)}\n`);
  expect(line).not.toMatch(ACTIVE);
  expect(line.split("\n")).toHaveLength(2);
  expect(line).toContain("user=\\u001b[2J\\u001b]0;owned\\u0007\\u009b2J");
  expect(line).toContain('nested={"deep":["\\u001b[2J');
});

test("a line that is not JSON is escaped too", () => {
  expect(logged(`plain ${HOSTILE}\n`)).toMatch(/^plain \\u001b\[2J[^\n]*\\u007f\n$/);
});

test("the output of a command keeps only its line breaks and colours", () => {
  const text = escapeExceptLayout(`\u001b[32mrunning\u001b[39m\nnext ${HOSTILE}`);
  expect(text.startsWith("\u001b[32mrunning\u001b[39m\nnext \\u001b[2J")).toBe(true);
  expect(text.slice(text.indexOf("next"))).not.toMatch(ACTIVE);
  expect(escapeExceptLayout("\u001b[32mrunning\u001b[39m\n")).toBe("\u001b[32mrunning\u001b[39m\n");
  expect(clean("\u001b[31mred\u001b[39m")).toBe("\\u001b[31mred\\u001b[39m");
});

test("escaping does not change the value of JSON", () => {
  expect(JSON.parse(escapeControls(JSON.stringify({ user: HOSTILE })))).toEqual({ user: HOSTILE });
});
