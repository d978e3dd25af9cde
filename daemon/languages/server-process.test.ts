import { expect, test } from "vitest";
import { serverMemoryBytes } from "./server-process.ts";

const MIB = 1024 * 1024;

test("a server may use half of the sandbox's memory, between 256 MiB and 1 GiB", () => {
  expect([128, 512, 1024, 2048, 64 * 1024].map((mib) => serverMemoryBytes(mib * MIB) / MIB)).toEqual([256, 256, 512, 1024, 1024]);
});
