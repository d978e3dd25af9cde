import { spawn } from "node:child_process";

export interface ProgramOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  // Discards the output. Needed if the program leaves a child behind, which would keep the pipe open.
  quiet?: boolean;
}

// Runs a program to its end and returns its standard output. Throws if it fails.
export function runProgram(command: string, args: readonly string[], { quiet = false, ...options }: ProgramOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: quiet ? "ignore" : ["ignore", "pipe", "pipe"] });
    let output = "";
    let errors = "";
    child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2000)));
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${command} ${args.join(" ")} ended with ${code ?? "a signal"}: ${errors}`));
    });
  });
}
