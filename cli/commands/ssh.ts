import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { Command } from "commander";
import { type AccessOptions, addAccessOptions, findAccess } from "../ssh/access.ts";
import { hostOf, sessionOf, sshOptions, writeClientConfig, writeKnownHost } from "../ssh/client-config.ts";
import { readHostKey, relay } from "../ssh/proxy.ts";
import { show } from "../terminal/output.ts";

const ID = "id of a session of the partner `demo`, or of the one whose key is used";

export const command = addAccessOptions(new Command("ssh"))
  .argument("<session>", ID)
  .argument("[command...]", "what to run, instead of a shell")
  .passThroughOptions()
  .action(connect)
  .addCommand(
    addAccessOptions(new Command("config"))
      .description("let ssh, scp, sftp, rsync, git and editors reach sessions as {sessionId}.berth")
      .option("--json", "print JSON")
      .action(configure),
  )
  .addCommand(
    addAccessOptions(new Command("proxy"))
      .description("connect standard input and output with the SSH server of a session, for ssh's ProxyCommand")
      .argument("<host>", "{sessionId}.berth")
      .option("--known-hosts <folder>", "write the host key to a file there, whose name is the host")
      .action(proxy),
  );

async function connect(id: string, words: string[], access: AccessOptions): Promise<void> {
  const options = sshOptions(access).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const ssh = spawn("ssh", [...options, hostOf(sessionOf(id)), ...words], { stdio: "inherit" });
  // The terminal sends these to ssh too, which knows what to do.
  for (const signal of ["SIGINT", "SIGQUIT"] as const) process.on(signal, () => {});
  const [code, signal] = await once(ssh, "exit").catch((error: unknown) => {
    throw new Error("ssh could not be started. Install OpenSSH's client: openssh-client on Debian.", { cause: error });
  });
  process.exitCode = (code as number | null) ?? 128 + constants.signals[signal as NodeJS.Signals];
}

async function configure(options: AccessOptions & { json?: boolean }): Promise<void> {
  const written = await writeClientConfig(options);
  show(options, written, () => `Wrote ${written.own}, which ${written.config} includes.\nNow \`ssh {sessionId}.berth\` works.\n`);
}

async function proxy(host: string, { knownHosts, ...options }: AccessOptions & { knownHosts?: string }): Promise<void> {
  const id = sessionOf(host);
  const access = await findAccess(id, options);
  // Also without a file, because the call resumes a paused session.
  const hostKey = await readHostKey(access);
  if (knownHosts !== undefined) await writeKnownHost(knownHosts, id, hostKey);
  const reason = await relay(access);
  if (reason === null) return;
  // The terminal may be in raw mode.
  process.stderr.write(`\rberth: ${reason}\r\n`);
  process.exitCode = 1;
}
