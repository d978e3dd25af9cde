import { expect, test } from "vitest";
import type { Program, ProgramList } from "@berth/contract/daemon/programs.ts";
import { cpuShares } from "./cpu-shares.ts";

const program = (id: string, cpuMs: number | null, parentId: string | null = null): Program => ({
  id,
  kind: parentId === null ? "terminal" : "listener",
  title: id,
  parentId,
  pid: 1,
  startedAt: "2026-01-01T00:00:00.000Z",
  cpuMs,
  memoryBytes: 1,
  ports: [],
  end: null,
});
const listAt = (second: number, ...programs: Program[]): ProgramList => ({
  programs,
  at: `2026-01-01T00:00:0${second}.000Z`,
});
const shares = (before: ProgramList, now: ProgramList) => Object.fromEntries(cpuShares(before, now));

test("the share of a program is the processor time between two lists, of one processor", () => {
  expect(shares(listAt(1, program("a", 100), program("b", 0)), listAt(3, program("a", 600), program("b", 3000)))).toEqual({
    a: 0.25,
    b: 1.5,
  });
});

test("a new program, one that has ended, and two lists of the same time have none", () => {
  expect(shares(listAt(1, program("a", 1)), listAt(3, program("b", 1)))).toEqual({});
  expect(shares(listAt(1, program("a", 1)), listAt(3, program("a", null)))).toEqual({});
  expect(shares(listAt(1, program("a", 1)), listAt(1, program("a", 2)))).toEqual({});
});

test("the time of processes that have ended makes a share neither negative nor huge", () => {
  expect(shares(listAt(1, program("a", 900)), listAt(3, program("a", 100)))).toEqual({ a: 0 });
  const before = listAt(1, program("shell", 10), program("server", 60_000, "shell"));
  expect(shares(before, listAt(3, program("shell", 60_210)))).toEqual({ shell: 0.1 });
});
