import { expect, test } from "vitest";
import { FILTERED_ARCHITECTURES, seccompProfile } from "./seccomp.ts";

// tests/isolation/syscalls/filter.test.ts tests the filter call by call on both architectures.

test("the filter covers every system call table of the processor", () => {
  const tables = (architecture: NodeJS.Architecture) => seccompProfile({ honoursErrno: true }, architecture).architectures;
  expect(FILTERED_ARCHITECTURES).toEqual(["x64", "arm64"]);
  expect(tables("x64")).toEqual(["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"]);
  expect(tables("arm64")).toEqual(["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"]);
});

test("an unknown processor architecture is refused", () => {
  expect(() => seccompProfile({ honoursErrno: true }, "riscv64")).toThrow("there is no system call filter for riscv64");
});

test("a runtime that ignores errno gets only rules that deny with EPERM", () => {
  const { syscalls } = seccompProfile({ honoursErrno: false }, "x64");
  expect(new Set(syscalls.map(({ errnoRet }) => errnoRet))).toEqual(new Set([1]));
});
