import { spawn as spawnWithNode } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Spawned } from "./child.ts";
import { spawn } from "./spawn.ts";

interface Case {
  words: string[];
  env?: Record<string, string>;
  cwd?: string;
  input?: string;
}

interface Outcome {
  output: string;
  errors: string;
  code: number | null;
  signal: string | null;
  error?: string | undefined;
}

describe("a program starts as with Node's spawn", () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-spawn-"));
  beforeAll(() => {
    mkdirSync(join(folder, "first"));
    mkdirSync(join(folder, "second"));
    // Found first, but it cannot be executed.
    writeFileSync(join(folder, "first/both"), "#!/bin/sh\necho first", { mode: 0o644 });
    writeFileSync(join(folder, "second/both"), "#!/bin/sh\necho second $0 $1", { mode: 0o755 });
    writeFileSync(join(folder, "second/plain"), 'echo plain "$1"', { mode: 0o755 });
    writeFileSync(join(folder, "second/orphan"), "#!/no/such/interpreter\n", { mode: 0o755 });
    writeFileSync(join(folder, "text"), "text", { mode: 0o644 });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const PATH = "/usr/bin:/bin";
  const shell = (script: string, more: Omit<Case, "words"> = {}): Case => ({ words: ["/bin/sh", "-c", script], ...more });
  const cases: Record<string, Case> = {
    "its output, errors and exit code": shell("echo out; echo error >&2; exit 7"),
    "its signal": shell("kill -USR1 $$"),
    "its input, to the end": shell("cat; echo end", { input: "given\n".repeat(50_000) }),
    "no input": shell("cat; readlink /proc/self/fd/0"),
    "its environment and nothing else": shell("/usr/bin/env", { env: { A: "1", "B-C": "é\n=" } }),
    "its working directory": shell("pwd -P", { cwd: "first" }),
    "its own session": shell('read -r _ _ _ _ group session _ < /proc/$$/stat; [ "$group $session" = "$$ $$" ] && echo leads'),
    "no other open files": shell("ls /proc/self/fd"),
    "no signal ignored or blocked": shell("grep -E 'Sig(Ign|Blk)' /proc/self/status"),
    "by name, where it can be executed": { words: ["both", "argument"], env: { PATH: `${folder}/first:${folder}/second` } },
    "by a relative path": { words: ["./both", "argument"], cwd: "second" },
    "in an empty folder of the path": { words: ["both"], env: { PATH: "" }, cwd: "second" },
    "without PATH": { words: ["echo", "found"], env: {} },
    "a script without an interpreter": { words: ["plain", "a b"], env: { PATH: `${folder}/second` } },
    "a script whose interpreter is missing": { words: [`${folder}/second/orphan`] },
    "a missing program": { words: ["no-such-program"], env: { PATH } },
    "a missing file": { words: ["/no/such/program"] },
    "a file without permission": { words: [`${folder}/text`] },
    "a missing working directory": shell("true", { cwd: "missing" }),
  };

  test.each(Object.entries(cases))("%s", async (_name, { words, env = { PATH }, cwd = ".", input }) => {
    const options = { cwd: join(folder, cwd), env };
    const [file = "", ...args] = words;
    const stdin = input === undefined ? "ignore" : "pipe";
    const ofNode = spawnWithNode(file, args, { ...options, detached: true, stdio: [stdin, "pipe", "pipe"] }) as unknown as Spawned;
    const expected = await outcomeOf(ofNode, input);
    const outcome = await outcomeOf(spawn(words, { ...options, stdin }), input);
    expect(outcome).toEqual(expected);
  });

  test("its output can be opened as a file", async () => {
    const program = spawn(["/bin/sh", "-c", "echo out > /dev/stdout; echo error > /dev/stderr"], {
      cwd: "/",
      env: { PATH },
      stdin: "ignore",
    });
    expect(await outcomeOf(program)).toMatchObject({ output: "out\n", errors: "error\n", code: 0 });
  });

  test("discarded output goes to /dev/null, and what the program leaves behind does not delay its end", async () => {
    const report = join(folder, "report");
    const script = `targets=$(readlink /proc/$$/fd/1 /proc/$$/fd/2); echo out; echo error >&2; sleep 60 & echo "$targets $!" > ${report}; exit 3`;
    const program = spawn(["/bin/sh", "-c", script], { env: { PATH }, stdin: "ignore", output: "ignore" });
    expect(await outcomeOf(program)).toMatchObject({ output: "", errors: "", code: 3 });
    const [stdout, stderr, leftBehind] = readFileSync(report, "utf8").trim().split(/\s/);
    process.kill(Number(leftBehind), "SIGKILL");
    expect([stdout, stderr]).toEqual(["/dev/null", "/dev/null"]);
  });

  test("without a folder of its own, it starts in that of its parent", async () => {
    const program = spawn(["/bin/sh", "-c", "pwd -P"], { env: { PATH }, stdin: "ignore" });
    expect((await outcomeOf(program)).output.trim()).toBe(process.cwd());
  });

  test("arguments that the system refuses are an error, and so is a NUL", async () => {
    const long = "x".repeat(3_000_000);
    expect(await outcomeOf(spawn(["/bin/true", long], { cwd: "/", env: {}, stdin: "ignore" }))).toMatchObject({ error: "E2BIG" });
    expect(() => spawn(["/bin/echo", "a\0b"], { cwd: "/", env: {}, stdin: "ignore" })).toThrow("NUL");
  });

  test("many at once end, each with its own output", async () => {
    const run = (i: number) => outcomeOf(spawn(["/bin/sh", "-c", `echo ${i}; exit ${i}`], { cwd: "/", env: {}, stdin: "ignore" }));
    const outcomes = await Promise.all(Array.from({ length: 50 }, (_, i) => run(i)));
    expect(outcomes.map(({ output, code }) => `${code} ${output}`)).toEqual(Array.from({ length: 50 }, (_, i) => `${i} ${i}\n`));
  });
});

async function outcomeOf(program: Spawned, input?: string): Promise<Outcome> {
  const failed = once(program, "error").then(([error]) => (error as NodeJS.ErrnoException).code);
  failed.catch(() => {});
  program.stdin?.on("error", () => {}).end(input);
  const [output, errors] = [text(program.stdout), text(program.stderr)];
  if (program.pid === undefined) return { output: "", errors: "", code: null, signal: null, error: await failed };
  await once(program, "close");
  const { exitCode: code, signalCode: signal } = program;
  return { output: await output, errors: await errors, code, signal };
}
