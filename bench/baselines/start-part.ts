import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Run } from "../support/benchmark.ts";

export interface Part {
  pid: number;
  // The first line that it has printed, such as its port.
  printed: string;
}

// Runs a file of this folder as a program of its own until the benchmark ends. Resolves when it has printed its first line.
export async function startPart({ resources }: Run, file: string, args: readonly string[], cwd?: string): Promise<Part> {
  const child = spawn(process.execPath, [file, ...args], { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  resources.defer(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const [printed] = (await once(child.stdout!, "data")) as [Buffer];
  return { pid: child.pid!, printed: printed.toString().trim() };
}
