import { Command, CommanderError } from "commander";
import manifest from "./package.json" with { type: "json" };
import { reportFailure } from "./failure.ts";
import { style } from "./terminal/style.ts";

// Each command is a file; only the one that is asked for is loaded, because the parts of the server behind it are not
// small.
const COMMANDS: Record<string, { about: string; load: () => Promise<{ command: Command }> }> = {
  serve: { about: "run the service", load: () => import("./commands/serve.ts") },
  partner: { about: "companies whose backends call the API", load: () => import("./commands/partner.ts") },
  key: { about: "API keys of partners", load: () => import("./commands/key.ts") },
  session: { about: "sessions of all partners", load: () => import("./commands/session.ts") },
  template: { about: "recipes for sandboxes", load: () => import("./commands/template.ts") },
  reseal: { about: "encrypt what is stored with the first master key", load: () => import("./commands/reseal.ts") },
  audit: { about: "who did what, newest first", load: () => import("./commands/audit.ts") },
  down: { about: "end every sandbox of this installation; files stay unless --delete", load: () => import("./commands/down.ts") },
  doctor: { about: "look at this machine and the installation, change nothing", load: () => import("./commands/doctor.ts") },
};

const EXAMPLES = `
Examples:
  berth serve                                      run on this machine, nothing to set up
  berth partner create acme --max-sessions 100     a partner and its first key
  berth key rotate key_01k9…                       a new key; the old one works for another day
  berth session list --partner acme                what is alive
  berth doctor                                     what works here and what does not
  berth down                                       end every sandbox; \`--delete\` removes the files too

Settings are environment variables (BERTH_PORT, BERTH_DATA_DIR, …): see docs/configuration.md. All commands but \`serve\` take --json.
`;

// Exit codes: 0 done, 1 it could not be done, 2 it was not said right.
export async function main(args: string[]): Promise<number> {
  try {
    const program = await buildProgram(args);
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    return reportFailure(error, args.includes("--json"));
  }
}

export async function buildProgram(args: string[]): Promise<Command> {
  const program = new Command("berth");
  program.description("Coding sessions for the users of your product.").version(manifest.version, "-V, --version", "show the version");
  program.addHelpText("after", EXAMPLES);
  const wanted = args.find((arg) => !arg.startsWith("-"));
  for (const [name, { about, load }] of Object.entries(COMMANDS)) {
    const command = name === wanted ? (await load()).command : new Command(name);
    program.addCommand(command.name(name).description(about));
  }
  for (const command of [program, ...program.commands, ...program.commands.flatMap((group) => group.commands)]) polish(command);
  return program;
}

function polish(command: Command): void {
  command
    .exitOverride()
    .helpOption("-h, --help", "show this help")
    .helpCommand(false)
    .showHelpAfterError("(add --help to see how it is used)")
    .configureHelp({
      styleTitle: style.bold,
      subcommandTerm: (sub) =>
        [
          sub.name(),
          ...sub.registeredArguments.map((argument) => (argument.required ? `<${argument.name()}>` : `[${argument.name()}]`)),
        ].join(" "),
    })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, `${style.red("berth:")} `)) });
}
