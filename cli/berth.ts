import { Command, CommanderError } from "commander";
import manifest from "./package.json" with { type: "json" };
import { reportFailure } from "./failure.ts";
import { style } from "./terminal/style.ts";

// Each command is a file. Only the requested one is loaded, because the parts of the server that it imports are large.
const COMMANDS: Record<string, { about: string; load: () => Promise<{ command: Command }> }> = {
  serve: { about: "run the server", load: () => import("./commands/installation/serve.ts") },
  open: { about: "create a session and open it in the browser", load: () => import("./commands/open.ts") },
  run: { about: "give the coding agent of a session a task", load: () => import("./commands/run.ts") },
  partner: { about: "manage partners, whose backends call the API", load: () => import("./commands/partner.ts") },
  key: { about: "manage the API keys of partners", load: () => import("./commands/key.ts") },
  console: { about: "manage the tokens for signing in to the console", load: () => import("./commands/console.ts") },
  session: { about: "list, show, copy and destroy sessions, and run commands in them", load: () => import("./commands/session.ts") },
  acp: { about: "connect an editor with the coding agent of a session (experimental)", load: () => import("./commands/acp.ts") },
  ssh: { about: "open a shell in a session, and let ssh, scp, rsync and editors reach sessions", load: () => import("./commands/ssh.ts") },
  snapshot: { about: "list, adopt and delete snapshots of sessions", load: () => import("./commands/snapshot.ts") },
  top: { about: "show what live sessions use, updated every two seconds", load: () => import("./commands/top.ts") },
  usage: { about: "show what the sessions of partners used", load: () => import("./commands/usage.ts") },
  volume: { about: "manage the volumes of partners", load: () => import("./commands/volume.ts") },
  template: { about: "list the templates for sandboxes, and fetch their images", load: () => import("./commands/template.ts") },
  reseal: { about: "encrypt all stored secrets with the first master key", load: () => import("./commands/installation/reseal.ts") },
  audit: { about: "show who changed what, newest first", load: () => import("./commands/audit.ts") },
  down: { about: "stop the server and every sandbox; files stay unless --delete", load: () => import("./commands/installation/down.ts") },
  doctor: {
    about: "check this machine and the installation without changing anything",
    load: () => import("./commands/installation/doctor.ts"),
  },
};

const EXAMPLES = `
Examples:
  berth serve                                      run on this machine without any setup
  berth open                                       create a session and open it in the browser
  berth run "Fix the failing test" --repo URL --follow
                                                   let the agent work on a repository
  berth partner create acme --max-sessions 100     create a partner and its first key
  berth key rotate key_01k9…                       replace a key; the old one works for another day
  berth session list --partner acme                list live sessions
  berth ssh ses_01k9…                              open a shell in a session
  berth doctor                                     check what works on this machine
  berth down                                       stop everything; \`--delete\` removes the files too

Settings are environment variables (BERTH_PORT, BERTH_DATA_DIR, …): see docs/configuration.md. All commands except \`serve\` and \`acp\` accept
--json.
`;

// Returns the exit code: 0 for success, 1 for a failure, 2 for invalid usage, or that of a program that the command has run.
export async function main(args: string[]): Promise<number> {
  try {
    const program = await buildProgram(args);
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    return reportFailure(error, { json: args.includes("--json") });
  }
}

export async function buildProgram(args: string[]): Promise<Command> {
  const program = new Command("berth");
  program.description("Coding sessions for the users of your product.").version(manifest.version, "-V, --version", "show the version");
  program.enablePositionalOptions().addHelpText("after", EXAMPLES);
  const wanted = args.find((arg) => !arg.startsWith("-"));
  for (const [name, { about, load }] of Object.entries(COMMANDS)) {
    const command = name === wanted ? (await load()).command : new Command(name);
    program.addCommand(command.name(name).description(about));
  }
  for (const command of [program, ...program.commands, ...program.commands.flatMap((group) => group.commands)]) configure(command);
  return program;
}

function configure(command: Command): void {
  command
    .exitOverride()
    .helpOption("-h, --help", "show this help")
    .helpCommand(false)
    .showHelpAfterError("(add --help for usage)")
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
