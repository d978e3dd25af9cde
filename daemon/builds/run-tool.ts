import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { printCommand } from "../io/print.ts";

// Runs a program. Its output goes to the log or, with `capture`, its stdout is the result. Rejects with a sentence if it fails.
export type RunTool = (
  command: string,
  args: readonly string[],
  options?: { capture?: boolean; shown?: readonly string[] },
) => Promise<string>;

export const createRunTool =
  (env: Record<string, string | undefined>): RunTool =>
  async (command, args, { capture = false, shown = [command, ...args] } = {}) => {
    if (!capture) printCommand(shown);
    const child = spawn(command, args, { env, stdio: ["ignore", capture ? "pipe" : "inherit", "inherit"] });
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once("error", (error: NodeJS.ErrnoException) =>
        reject(
          error.code === "ENOENT"
            ? new Error(`The server has no ${command}. An operator can install it (apt-get install ${command}).`)
            : error,
        ),
      );
      child.once("close", resolve);
    });
    const [output, code] = await Promise.all([child.stdout ? text(child.stdout) : "", ended]);
    if (code !== 0) throw new Error(`${command} ended with exit code ${code}.`);
    return output;
  };
