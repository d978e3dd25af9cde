import { main } from "../../../cli/berth.ts";

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

let last: Promise<unknown> = Promise.resolve();

// Runs a command of `berth` in this process, without a terminal. A process of its own takes a quarter of a second of processor time,
// and tests of `bin.js` show that it does the same. Commands run one after the other, because they use the process's environment,
// folder and output.
export function runCommand(args: string[], { env, cwd }: { env: Record<string, string>; cwd: string }): Promise<CommandResult> {
  const result = last.then(() => runAlone(args, { env, cwd }));
  last = result.catch(() => {});
  return result;
}

async function runAlone(args: string[], { env, cwd }: { env: Record<string, string>; cwd: string }): Promise<CommandResult> {
  const saved = { env: process.env, cwd: process.cwd() };
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  try {
    process.env = { ...env };
    process.chdir(cwd);
    return { code: await main(args), stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    process.env = saved.env;
    process.chdir(saved.cwd);
    stdout.restore();
    stderr.restore();
  }
}

function capture(stream: NodeJS.WriteStream): { text(): string; restore(): void } {
  const { write } = stream;
  let text = "";
  stream.write = (chunk: string | Uint8Array) => {
    text += String(chunk);
    return true;
  };
  return { text: () => text, restore: () => void (stream.write = write) };
}
