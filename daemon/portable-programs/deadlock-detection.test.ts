import { execFileSync } from "node:child_process";
import { constants, copyFileSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { daemonRuntime } from "../../tests/support/runtime.ts";
import { ignoreDeadlocks } from "./deadlock-detection.ts";
import { applyEdits, hasEdits } from "./edits.ts";

const NAME = "_ZN4absl12_GLOBAL__N_124synch_deadlock_detectionE";
const ABORT = 2;
const DATA_AT = 0x1000;

interface Variable {
  name?: string;
  size?: number;
  section?: number;
}

// An ELF file with these variables, whose sections are none, data at another address than in the file, names, and symbols.
function program(value: number, variables: Variable[]): Buffer {
  const names = Buffer.from(`\0${variables.map(({ name = NAME }) => `${name}\0`).join("")}`);
  const symbols = Buffer.alloc(variables.length * 24);
  let name = 1;
  variables.forEach(({ name: text = NAME, size = 4, section = 1 }, i) => {
    symbols.writeUInt32LE(name, i * 24);
    symbols.writeUInt8(1, i * 24 + 4);
    symbols.writeUInt16LE(section, i * 24 + 6);
    symbols.writeBigUInt64LE(BigInt(DATA_AT + 8), i * 24 + 8);
    symbols.writeBigUInt64LE(BigInt(size), i * 24 + 16);
    name += text.length + 1;
  });
  const data = Buffer.alloc(16);
  data.writeUInt32LE(value, 8);
  const contents = [data, names, symbols];
  const header = Buffer.alloc(64);
  header.write("\x7fELF\x02\x01", "latin1");
  header.writeBigUInt64LE(64n, 40);
  header.writeUInt16LE(64, 58);
  header.writeUInt16LE(4, 60);
  const sections = Buffer.alloc(4 * 64);
  let offset = header.length + sections.length;
  for (const [i, { type, address, link }] of [
    { type: 1, address: DATA_AT, link: 0 },
    { type: 3, address: 0, link: 0 },
    { type: 2, address: 0, link: 2 },
  ].entries()) {
    const at = (i + 1) * 64;
    sections.writeUInt32LE(type, at + 4);
    sections.writeBigUInt64LE(BigInt(address), at + 16);
    sections.writeBigUInt64LE(BigInt(offset), at + 24);
    sections.writeBigUInt64LE(BigInt(contents[i]!.length), at + 32);
    sections.writeUInt32LE(link, at + 40);
    offset += contents[i]!.length;
  }
  return Buffer.concat([header, sections, ...contents]);
}

describe("the search for deadlocks is turned off", () => {
  function editOf(bytes: Buffer) {
    using folder = mkdtempDisposableSync(join(tmpdir(), "berth-deadlocks-"));
    const path = join(folder.path, "program");
    writeFileSync(path, bytes);
    return ignoreDeadlocks(path);
  }

  test("in a program that has the variable", () => {
    const bytes = program(ABORT, [{ name: "other" }, {}]);
    const zero = Buffer.alloc(4);
    expect(editOf(bytes)).toEqual({ offset: bytes.indexOf(Buffer.of(ABORT, 0, 0, 0), 64 * 5), bytes: zero });
  });

  test.each(
    Object.entries({
      "without the variable": program(ABORT, [{ name: `${NAME}1` }, { name: NAME.slice(1) }]),
      "with two of them": program(ABORT, [{}, {}]),
      "in which it has another size": program(ABORT, [{ size: 8 }]),
      "in which it is in no section of the file": program(ABORT, [{ section: 0xfff1 }]),
      "in which it is off": program(0, [{}]),
      "in which it has an unknown value": program(3, [{}]),
      "without symbols": program(ABORT, []),
      "of another kind": Buffer.from("#!/bin/sh\n"),
      "that ends too early": program(ABORT, [{}]).subarray(0, 100),
    }),
  )("not in a program %s", (_name, bytes) => {
    expect(editOf(bytes)).toBeUndefined();
  });
});

test("a Node that does not search for deadlocks needs 1 MB less, and sandboxes have this one", async () => {
  const runtime = await daemonRuntime();
  const node = join(runtime, "host/node");
  const edit = ignoreDeadlocks(node);
  if (!edit) throw new Error("This version of Node has no such variable");
  expect(hasEdits(join(runtime, "bin/node"), [edit])).toBe(true);
  using folder = mkdtempDisposableSync(join(tmpdir(), "berth-deadlocks-"));
  const copy = join(folder.path, "node");
  copyFileSync(node, copy, constants.COPYFILE_FICLONE);
  applyEdits(copy, [edit]);
  const script = `/^Private_Dirty: +(\\d+) kB$/m.exec(fs.readFileSync("/proc/self/smaps_rollup", "utf8"))[1]`;
  const privateKb = (path: string) => Number(execFileSync(path, ["-p", script], { encoding: "utf8" }));
  expect(privateKb(node) - privateKb(copy)).toBeGreaterThan(700);
});
