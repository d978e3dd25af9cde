import { Command, CommanderError } from "commander";
import { serveCommand } from "./commands/serve.ts";
import { reportFailure } from "./failure.ts";

// Exit codes: 0 done, 1 it could not be done, 2 it was not said right.
export async function main(args: string[]): Promise<number> {
  const program = buildProgram();
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    return reportFailure(error, args.includes("--json"));
  }
}

export function buildProgram(): Command {
  const program = new Command("berth");
  program.description("Coding sessions for the users of your product.").version("0.1.0", "-V, --version", "show the version");
  program.addCommand(serveCommand());
  for (const command of [program, ...program.commands, ...program.commands.flatMap((group) => group.commands)]) polish(command);
  return program;
}

function polish(command: Command): void {
  command
    .exitOverride()
    .helpOption("-h, --help", "show this help")
    .helpCommand(false)
    .showHelpAfterError("(add --help to see how it is used)");
}
