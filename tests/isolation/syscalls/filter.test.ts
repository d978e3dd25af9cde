import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, test } from "vitest";
import { describeWith, type Missing } from "../../support/machine.ts";
import { seccompProfile } from "../../../server/drivers/host/isolation/seccomp.ts";
import { MISSING, REFUSED, WORKING, type Call } from "./attempts.ts";
import { numberOf, type CallName, type Table } from "./syscalls.ts";

// Compiles the profile of an architecture with the library that the runtimes use, and simulates the filter call by call. This
// covers the architectures that this machine does not have. The first line of its input is the profile, and each further line a list
// of queries.
const EVALUATOR = `
import ctypes, json, os, struct, sys, tempfile
lib = ctypes.CDLL("libseccomp.so.2", use_errno=True)
lib.seccomp_init.restype = ctypes.c_void_p
lib.seccomp_init.argtypes = [ctypes.c_uint32]
for name in ("seccomp_arch_add", "seccomp_arch_remove"):
    getattr(lib, name).argtypes = [ctypes.c_void_p, ctypes.c_uint32]
lib.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
class Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]
lib.seccomp_rule_add_array.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Comparison)]
ALLOW, ERRNO = 0x7fff0000, 0x00050000
AUDIT = dict(SCMP_ARCH_X86_64=0xc000003e, SCMP_ARCH_X86=0x40000003, SCMP_ARCH_X32=0x4000003e, SCMP_ARCH_AARCH64=0xc00000b7, SCMP_ARCH_ARM=0x40000028)
OPERATORS = dict(SCMP_CMP_GT=6, SCMP_CMP_MASKED_EQ=7)
profile = json.loads(sys.stdin.readline())
context = lib.seccomp_init(ALLOW)
wanted = [AUDIT[name] for name in profile["architectures"]]
native = lib.seccomp_arch_native() & 0xffffffff
for token in wanted:
    if token != native: assert lib.seccomp_arch_add(context, token) == 0
if native not in wanted: assert lib.seccomp_arch_remove(context, native) == 0
for rule in profile["syscalls"]:
    comparisons = [Comparison(c["index"], OPERATORS[c["op"]], c["value"], c.get("valueTwo", 0)) for c in rule.get("args", [])]
    for name in rule["names"]:
        number = lib.seccomp_syscall_resolve_name(name.encode())
        # -1: a call that is newer than the library.
        if number == -1: continue
        code = lib.seccomp_rule_add_array(context, ERRNO | rule["errnoRet"], number, len(comparisons), (Comparison * len(comparisons))(*comparisons))
        assert code == 0, (name, code)
file = tempfile.TemporaryFile()
assert lib.seccomp_export_bpf(context, file.fileno()) == 0
file.seek(0)
program = [struct.unpack("HBBI", chunk) for chunk in iter(lambda: file.read(8), b"")]
def answer(table, number, args):
    data = struct.pack("<IIQ6Q", number, table, 0, *[a & 0xffffffffffffffff for a in (args + [0] * 6)[:6]])
    at, held = 0, 0
    while True:
        code, yes, no, k = program[at]
        at += 1
        if code == 0x20: held = struct.unpack_from("<I", data, k)[0]
        elif code == 0x54: held &= k
        elif code == 0x05: at += k
        elif code == 0x06: return "allow" if k == ALLOW else "errno %d" % (k & 0xffff) if k & 0xffff0000 == ERRNO else "kill"
        else: at += yes if {0x15: held == k, 0x25: held > k, 0x35: held >= k, 0x45: held & k}[code] else no
for line in sys.stdin: print(json.dumps([answer(*query) for query in json.loads(line)]), flush=True)`;

const AUDIT: Record<Table, number> = { x64: 0xc000003e, x86: 0x40000003, arm64: 0xc00000b7, arm: 0x40000028 };
const X32 = 0x40000000;
const LIBRARIES = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
const missing: Missing[] = [
  existsSync("/usr/bin/python3") ? undefined : "needs python3 in /usr (apt-get install python3)",
  LIBRARIES.some((folder) => existsSync(`${folder}/libseccomp.so.2`)) ? undefined : "needs libseccomp (apt-get install libseccomp2)",
];

type Query = [table: number, number: number, args: number[]];

const evaluators = new Map<"x64" | "arm64", ReturnType<typeof startEvaluator>>();
afterAll(() => Promise.all([...evaluators.values()].map(({ close }) => close())));

async function ask(architecture: "x64" | "arm64", queries: Query[]): Promise<string[]> {
  const evaluator = evaluators.get(architecture) ?? startEvaluator(architecture);
  evaluators.set(architecture, evaluator);
  return JSON.parse(await evaluator.answer(JSON.stringify(queries))) as string[];
}

function startEvaluator(architecture: "x64" | "arm64") {
  const child = spawn("/usr/bin/python3", ["-c", EVALUATOR], { stdio: ["pipe", "pipe", "inherit"] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  child.stdin.write(`${JSON.stringify(seccompProfile({ honoursErrno: true }, architecture))}\n`);
  return {
    async answer(line: string): Promise<string> {
      child.stdin.write(`${line}\n`);
      const { value, done } = await answers.next();
      if (done) throw new Error("The evaluator of the filter has ended. Its output says why.");
      return value;
    },
    async close(): Promise<void> {
      const ended = once(child, "close");
      child.stdin.end();
      await ended;
    },
  };
}

const AN_ADDRESS = 0x7000;
const MAP_HUGETLB = 0x40000;
const ADD_TO_UPPER_HALF = 0x100000000;
const argsOf = ([, ...args]: Call) => args.map((argument) => (typeof argument === "number" ? argument : AN_ADDRESS));
const toQueries = (calls: readonly Call[], table: Table): { name: CallName; query: Query }[] =>
  calls.flatMap((call) => {
    const number = numberOf(call[0], table);
    return number === undefined ? [] : [{ name: call[0], query: [AUDIT[table], number, argsOf(call)] as Query }];
  });

describeWith(missing, "the system call filter", () => {
  describe.each([
    ["x64", "x64"],
    ["x64", "x86"],
    ["arm64", "arm64"],
    ["arm64", "arm"],
  ] as const)("of %s, for programs of %s", (architecture, table) => {
    const expectAll = async (calls: readonly Call[], expected: string) => {
      const asked = toQueries(calls, table);
      const answers = await ask(
        architecture,
        asked.map(({ query }) => query),
      );
      expect(asked.map(({ name }, index) => `${name}: ${answers[index]}`)).toEqual(asked.map(({ name }) => `${name}: ${expected}`));
      return asked.length;
    };

    test("refuses calls that could escape", async () => {
      expect(await expectAll(REFUSED, "errno 1")).toBeGreaterThanOrEqual(40);
    });

    test("hides calls that use machine-wide resources", async () => {
      expect(await expectAll(MISSING, "errno 38")).toBe(3);
      const mapping = table === "x86" || table === "arm" ? "mmap2" : "mmap";
      await expectAll([[mapping, 0, 4096, 3, MAP_HUGETLB | 0x22, -1]], "errno 12");
      await expectAll([["memfd_create", 0, 4]], "errno 22");
      await expectAll([["prctl", 22, 2]], "errno 22");
    });

    test("allows calls that programs need", async () => {
      expect(await expectAll(WORKING, "allow")).toBe(WORKING.length);
      await expectAll(
        [
          ["prctl", 38, 1],
          ["setsockopt", 3, 1, 2, 1],
          ["ioctl", 0, 0x5401],
        ],
        "allow",
      );
    });
  });

  test.each(["x64", "arm64"] as const)("of %s ignores the argument bits that the kernel ignores", async (table) => {
    const calls: Call[] = [
      ["socket", ADD_TO_UPPER_HALF + 38, 5, 0],
      ["socket", ADD_TO_UPPER_HALF + 3, 5, 0],
      ["socketpair", ADD_TO_UPPER_HALF + 38, 5, 0],
      ["socketpair", ADD_TO_UPPER_HALF + 3, 5, 0],
      ["ioctl", 0, ADD_TO_UPPER_HALF + 0x5412],
      ["setsockopt", 0, ADD_TO_UPPER_HALF + 1, ADD_TO_UPPER_HALF + 26],
      ["clone", ADD_TO_UPPER_HALF + 0x10000000],
    ];
    const asked = toQueries(calls, table);
    const answers = await ask(
      table,
      asked.map(({ query }) => query),
    );
    expect(answers).toEqual(calls.map(() => "errno 1"));
  });

  test("of x64 refuses the same calls to x32 programs", async () => {
    const shared: Call[] = REFUSED.filter(
      ([name]) => !["kexec_load", "process_vm_readv", "move_pages", "setsockopt", "ioctl"].includes(name),
    );
    const asked = toQueries(shared, "x64").map(({ query: [table, number, args] }): Query => [table, X32 + number, args]);
    expect(asked.length).toBeGreaterThan(35);
    expect(await ask("x64", asked)).toEqual(asked.map(() => "errno 1"));
  });
});
