import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, testWith } from "../../support/machine.ts";
import { MISSING, REFUSED, WORKING, type Call } from "./attempts.ts";
import { makeProgram, readAnswers } from "./elf32.ts";
import { openSandboxes, missing, type Sandboxes, type Sandbox } from "../sandboxes.ts";
import { COMPANION, NATIVE, numberOf, SYSCALLS, type CallName } from "./syscalls.ts";

const needsX64 = NATIVE === "x64" ? undefined : "needs x64: other processors have no such way in";
const EPERM = 1;
const ENOSYS = 38;
const has = ([name]: Call) => numberOf(name, COMPANION) !== undefined;

const INT_0X80 = `
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
# With eax = rdi, ebx = rsi, ecx = rdx, edx = rcx, esi = r8.
code.write(bytes.fromhex("5389f889f34989ca89d14489d24489c6cd8048985bc3"))
enter = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 5)(ctypes.addressof(ctypes.c_char.from_buffer(code)))`;

// Many arm64 processors cannot run 32-bit programs, and x64 kernels may be built without support for them.
function hostRuns32Bit(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "berth-32-bit-"));
  try {
    writeFileSync(join(folder, "program"), makeProgram(COMPANION, [[numberOf("getpid", COMPANION)!]]), { mode: 0o755 });
    return execFileSync(join(folder, "program")).length > 0;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// The processor's other system call tables, which number their calls differently, do not bypass the filter.
describeWith(missing, "other system call tables", () => {
  let sandboxes: Sandboxes;
  let attacker: Sandbox;

  beforeAll(async () => {
    sandboxes = await openSandboxes();
    attacker = await sandboxes.create();
  });
  afterAll(() => sandboxes?.[Symbol.asyncDispose]());

  // Undefined if the machine does not run 32-bit programs.
  async function runProgram(calls: readonly Call[]): Promise<number[] | undefined> {
    const program = makeProgram(
      COMPANION,
      calls.map(([name, ...args]) => [numberOf(name, COMPANION) ?? 0, ...args]),
    );
    const { output } = await attacker.python(`
import base64, errno, subprocess
open("/tmp/program", "wb").write(base64.b64decode("${program.toString("base64")}"))
__import__("os").chmod("/tmp/program", 0o755)
try:
    print(subprocess.run(["/tmp/program"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout.hex())
except OSError as error:
    print(errno.errorcode[error.errno])`);
    if (output.trim() === "ENOEXEC") return undefined;
    return readAnswers(Buffer.from(output.trim(), "hex"));
  }

  const named = (calls: readonly Call[], answers: readonly number[]) => calls.map(([name], index) => `${name} ${answers[index] ?? "-"}`);

  test("a 32-bit program gets the same refusals as a 64-bit one, or cannot run at all", async () => {
    const refused = REFUSED.filter(has);
    const missing = MISSING.filter(has);
    // A child would repeat the calls.
    const working = WORKING.filter(([name]) => name !== "clone");
    const all = [...refused, ...working, ...missing];
    const expected = [...refused.map(() => EPERM), ...working.map(() => 0), ...missing.map(() => ENOSYS)];
    const answers = await runProgram(all);
    expect(answers === undefined ? "ENOEXEC" : named(all, answers)).toEqual(hostRuns32Bit() ? named(all, expected) : "ENOEXEC");
  });

  testWith(needsX64, "a 64-bit program gets the same refusals through the 32-bit entry", async () => {
    const refused = REFUSED.filter((call) => has(call) && call.slice(1).every((argument) => typeof argument === "number"));
    const { output } = await attacker.python(`${INT_0X80}
for call in ${JSON.stringify(refused.map(([name, ...args]) => [numberOf(name, COMPANION), ...args]))}:
    print(-enter(*(call + [0] * 4)[:5]), flush=True)`);
    // Without that entry the kernel kills the program.
    const { status } = spawnSync("/usr/bin/python3", ["-c", `${INT_0X80}\nenter(20, 0, 0, 0, 0)`]);
    const expected = status === 0 ? refused.map(([name]) => `${name} ${EPERM}`) : [];
    expect(output.split("\n").flatMap((answer, index) => (answer === "" ? [] : [`${refused[index]?.[0]} ${answer}`]))).toEqual(expected);
  });

  testWith(needsX64, "a 64-bit program gets the same refusals through the x32 table", async () => {
    const X32 = 0x40000000;
    const names: CallName[] = ["mount", "umount2", "unshare", "setns", "bpf", "keyctl", "perf_event_open", "userfaultfd", "reboot"];
    const { output } = await attacker.python(`${SYSCALLS}
${names.map((name) => `print("${name}", call_number(${X32 | numberOf(name, "x64")!}, 0, 0, 0, 0, 0))`).join("\n")}
print("clone", call_number(${X32 | numberOf("clone", "x64")!}, 0x10000000 | 17, 0, 0, 0, 0))
print("socket", call_number(${X32 | numberOf("socket", "x64")!}, 38, 5, 0))
print("socketpair", call_number(${X32 | numberOf("socketpair", "x64")!}, 38, 5, 0, 0))`);
    expect(output.trim().split("\n")).toEqual([...names, "clone", "socket", "socketpair"].map((name) => `${name} EPERM`));
  });
});
