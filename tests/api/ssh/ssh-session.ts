import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";
import type { Session, SessionTokenWithSecret } from "@berth/contract";
import { machine, type Missing } from "../../support/machine.ts";
import { shareBerth, type SharedBerth } from "../../support/servers/shared-berth.ts";
import { endSsh, openSshClient, type SshClient } from "../../support/servers/ssh-client.ts";

export const sshMissing: Missing[] = [machine.command("ssh", "openssh-client"), machine.command("rsync")];

// A session of the shared server, and Debian's own clients, which reach it as `host`.
export interface SshSession extends AsyncDisposable {
  berth: SharedBerth;
  session: Session;
  client: SshClient;
  host: string;
  hostOf(session: Session): string;
  destroy(session: Session): Promise<unknown>;
  inSandbox(command: string): ReturnType<SharedBerth["api"]["exec"]>;
  // A path in the folder of the client.
  path(name: string): string;
  // Starts `ssh` with these arguments. It is ended with the session.
  spawn(...args: string[]): ChildProcessWithoutNullStreams;
  // The same, and reads its output.
  start(...args: string[]): StartedSsh;
  // Creates a token of the session, with the scope `ssh`.
  createToken(body: object, of?: Session): Promise<SessionTokenWithSecret>;
}

export interface StartedSsh {
  child: ChildProcessWithoutNullStreams;
  says(wanted: RegExp): Promise<unknown>;
  output(): string;
  code(): Promise<number | null>;
}

export async function openSshSession(): Promise<SshSession> {
  const berth = await shareBerth();
  const [client, session] = await Promise.all([openSshClient(berth), berth.api.create()]);
  const hostOf = ({ sessionId }: Session) => `${sessionId}.berth`;
  const destroy = ({ sessionId }: Session) => berth.api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
  await client.share(hostOf(session));
  const children: ChildProcessWithoutNullStreams[] = [];
  const spawnSsh = (...args: string[]) => {
    const child = spawn("ssh", [...client.flags, ...args], { cwd: client.folder });
    children.push(child);
    return child;
  };

  return {
    berth,
    session,
    client,
    host: hostOf(session),
    hostOf,
    destroy,
    inSandbox: (command) => berth.api.exec(session.sandboxId, command),
    path: (name) => join(client.folder, name),
    spawn: spawnSsh,
    start(...args) {
      const child = spawnSsh(...args);
      const ended = once(child, "exit").then(([code]) => code as number | null);
      let output = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (output = (output + String(bytes)).slice(-10_000)));
      const says = (wanted: RegExp) => expect.poll(() => wanted.exec(output)?.[0] ?? output, { timeout: 15_000 }).toMatch(wanted);
      return { child, says, output: () => output, code: () => ended };
    },
    async createToken(body, { sessionId } = session) {
      const created = await berth.api.call("POST", `/api/b2b/sessions/${sessionId}/tokens`, { scopes: ["ssh"], ttlMs: 60_000, ...body });
      return created.body as SessionTokenWithSecret;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(children.map(endSsh));
      await client[Symbol.asyncDispose]();
      await destroy(session);
    },
  };
}
