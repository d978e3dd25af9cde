import { createInterface } from "node:readline/promises";
import type { Command } from "commander";

// Asks before a command that destroys something. On stderr, because stdout is for the result.
export async function confirm(plan: string, command: Command): Promise<void> {
  if (!process.stdin.isTTY) command.error("error: Confirmation needs a terminal. Add --yes to skip it.", { exitCode: 2 });
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await lines.question(`${plan}\nContinue? [y/N] `).finally(() => lines.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error("Nothing was changed.");
}
