import { closeSync } from "node:fs";
import { type CLibrary, loadCLibrary, SystemFailure } from "./c-library.ts";
import { describeFailed, type Spawned, watchChild, withStreams } from "./child.ts";
import { launchByName } from "./launch-by-name.ts";

export interface SpawnOptions {
  // Absent: that of this process.
  cwd?: string;
  env: Record<string, string>;
  stdin: "pipe" | "ignore";
  // Standard output and standard error. "ignore" discards them, and their streams are empty.
  output?: "pipe" | "ignore";
}

// undefined: not known yet; null: there is none.
let known: CLibrary | null | undefined;

// Starts a program that leads a new session, like Node's `spawn`, but for less than half of the processor time (c-library.ts). Its
// output goes into pipes instead of sockets, so that it can also open them as /dev/stdout.
export function spawn(words: string[], options: SpawnOptions): Spawned {
  if (known === undefined) known = loadIfPossible();
  if (known) return start(known, words, options);
  const [file = "", ...args] = words;
  const { stdin, output = "pipe", ...rest } = options;
  const { spawn: spawnWithNode } = process.getBuiltinModule("node:child_process");
  return withStreams(spawnWithNode(file, args, { ...rest, detached: true, stdio: [stdin, output, output] }));
}

// Starts programs with `library` while `work` runs.
export async function spawnWith(library: CLibrary, work: () => Promise<void>): Promise<void> {
  known = library;
  await work();
  known = undefined;
}

function loadIfPossible(): CLibrary | null {
  try {
    return process.platform === "linux" ? loadCLibrary() : null;
  } catch {
    return null;
  }
}

function start(library: CLibrary, words: string[], { cwd, env, stdin, output = "pipe" }: SpawnOptions): Spawned {
  const pairs = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  if ([...words, ...pairs, cwd ?? ""].some((text) => text.includes("\0"))) throw new TypeError("a program cannot get a text with a NUL");
  const opened: number[] = [];
  const pipe = () => {
    const [read, write] = library.pipe();
    opened.push(read, write);
    return { read, write };
  };
  try {
    const [stdout, stderr] = output === "pipe" ? [pipe(), pipe()] : [];
    const input = stdin === "pipe" ? pipe() : undefined;
    const given = { stdin: input?.read ?? null, stdout: stdout?.write ?? null, stderr: stderr?.write ?? null };
    const child = watchChild(library, words, () => launchByName(library, { words, env: pairs, cwd, ...given }, env.PATH));
    for (const fd of Object.values(given)) if (fd !== null) closeSync(fd);
    return child.open({ stdin: input?.write ?? null, stdout: stdout?.read ?? null, stderr: stderr?.read ?? null });
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    if (error instanceof SystemFailure) return describeFailed(words, error);
    throw error;
  }
}
