import { existsSync, readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { testWith } from "../../support/machine.ts";
import { CALL_NAMES, numberOf, type Table } from "./syscalls.ts";

// The paths of Debian's linux-libc-dev. Only that architecture has the headers of 32-bit ARM.
const HEADERS: Record<Table, string> = {
  x64: "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
  x86: "/usr/include/x86_64-linux-gnu/asm/unistd_32.h",
  arm64: "/usr/include/asm-generic/unistd.h",
  arm: "/usr/include/arm-linux-gnueabihf/asm/unistd-eabi.h",
};

describe.each(Object.entries(HEADERS) as [Table, string][])("the system call numbers of %s", (table, header) => {
  const missing = existsSync(header) ? undefined : `needs ${header} (linux-libc-dev of that architecture)`;

  testWith(missing, "match the kernel's headers", () => {
    const text = readFileSync(header, "utf8");
    const stated = (name: string) => {
      // The generic header also names calls that only 32-bit processors have.
      if (table === "arm64" && name.endsWith("time64")) return undefined;
      const found = new RegExp(`^#define __NR(?:3264)?_${name}\\s+(?:\\(__NR_SYSCALL_BASE \\+ )?(\\d+)`, "m").exec(text)?.[1];
      return found === undefined ? undefined : Number(found);
    };
    const ours = CALL_NAMES.map((name) => [name, numberOf(name, table)]);
    expect(ours).toEqual(CALL_NAMES.map((name) => [name, stated(name)]));
  });
});
