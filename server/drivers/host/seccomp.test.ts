import { expect, test } from "vitest";
import { FILTERED_ARCHITECTURES, seccompProfile } from "./seccomp.ts";

// tests/isolation/syscalls/filter.test.ts has the answers of the filter, call by call and on both architectures.

test("the filter holds in every system call table of the processor", () => {
  const tables = (architecture: NodeJS.Architecture) => seccompProfile({ honoursErrno: true }, architecture).architectures;
  expect(FILTERED_ARCHITECTURES).toEqual(["x64", "arm64"]);
  expect(tables("x64")).toEqual(["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"]);
  expect(tables("arm64")).toEqual(["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"]);
});

test("a processor without a known table has no filter", () => {
  expect(() => seccompProfile({ honoursErrno: true }, "riscv64")).toThrow("there is no system call filter for riscv64");
});

test("a runtime that answers with no other error than EPERM gets no rule that needs one", () => {
  const { syscalls } = seccompProfile({ honoursErrno: false }, "x64");
  expect(new Set(syscalls.map(({ errnoRet }) => errnoRet))).toEqual(new Set([1]));
});
