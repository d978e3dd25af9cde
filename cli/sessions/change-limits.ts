import { Argument, Command, InvalidArgumentError } from "commander";
import type { Session, SessionEgress, UpdateSession } from "@berth/client";
import { withServer } from "../installation/server-call.ts";
import { clean, facts, show } from "../terminal/output.ts";

// `berth session egress` and `berth session resources`, through the running server.

const ID = "id of a session of the partner `demo`, or of the one whose key BERTH_API_KEY is";

interface Options {
  json?: boolean;
  closeConnections?: boolean;
  cpus?: number;
  memory?: number;
  reset?: boolean;
}

export const limitCommands = (): Command[] => [
  new Command("egress")
    .description("change what a session may reach, within what its template allows")
    .argument("<id>", ID)
    .addArgument(
      new Argument("<policy>", "`template` is back to the policy of the template").choices(["none", "public", "hosts", "template"]),
    )
    .argument("[hosts...]", "with `hosts`: names, *.domain or addresses, each with an optional :port")
    .option("--close-connections", "close open connections that it forbids")
    .option("--json", "print JSON")
    .action((id: string, policy: string, hosts: string[], options: Options) =>
      update(id, options, { egress: egressOf(policy, hosts), closeConnections: options.closeConnections ?? false }),
    ),
  new Command("resources")
    .description("change the processors and the memory of a session, within what its template allows")
    .argument("<id>", ID)
    .option("--cpus <n>", "processors, such as 1.5", parseNumber)
    .option("--memory <MiB>", "memory", parseNumber)
    .option("--reset", "back to the values of the template")
    .option("--json", "print JSON")
    .action((id: string, options: Options, command: Command) => {
      const { cpus, memory, reset } = options;
      const isNamed = cpus !== undefined || memory !== undefined;
      if (isNamed === (reset === true)) command.error("error: name --cpus or --memory, or --reset");
      return update(id, options, {
        resources: reset ? null : { ...(cpus !== undefined && { cpus }), ...(memory !== undefined && { memoryMb: memory }) },
      });
    }),
];

const egressOf = (policy: string, hosts: string[]): SessionEgress | null =>
  policy === "template" ? null : { policy: policy as SessionEgress["policy"], ...(hosts.length > 0 && { hosts }) };

async function update(id: string, options: Options, changes: UpdateSession): Promise<void> {
  await withServer(async ({ sessions }) => {
    const session: Session = await (await sessions.get(id)).update(changes);
    const { egress = null, resources = null } = session;
    show(options, { sessionId: session.sessionId, egress, resources }, () =>
      facts([
        ["session", session.sessionId],
        ["resources", resources ? JSON.stringify(resources) : "of the template"],
        ["egress", egress ? clean(JSON.stringify(egress), 200) : "of the template"],
      ]),
    );
  });
}

function parseNumber(text: string): number {
  if (Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("Allowed: a number above 0.");
}
