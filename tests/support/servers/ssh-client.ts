import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, vi } from "vitest";
import { type CliPlace, runCli } from "./cli.ts";

// The machine of a person who uses the system's ssh with a session, configured by `berth ssh config`.
export interface SshClient extends AsyncDisposable {
  readonly folder: string;
  // Arguments of ssh, scp and sftp that choose the configuration.
  readonly flags: readonly string[];
  // Makes a connection that all commands share, except those with `-S none`. Another one costs half a second of processor time.
  share(host: string): Promise<void>;
  run(program: string, args: string[], options?: RunOptions): Promise<Ran>;
  // Runs ssh with these arguments.
  ssh(...args: string[]): Promise<Ran>;
}

export interface RunOptions {
  input?: string;
  env?: Record<string, string>;
}

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

// OpenSSH 9.2 loses a signal that arrives just before it waits, so the signal is repeated until the program has ended.
export const endSsh = (child: ChildProcess) => vi.waitFor(() => expect(child.kill(), "ssh still runs").toBe(false), { timeout: 10_000 });

export async function openSshClient(
  server: CliPlace & { url: string; key: string },
  folder = mkdtempSync(join(tmpdir(), "berth-ssh-")),
): Promise<SshClient> {
  const keyFile = join(folder, "key");
  writeFileSync(keyFile, server.key, { mode: 0o600 });
  const home = { env: { ...server.env, HOME: folder }, dataDir: server.dataDir };
  const { code, stderr } = await runCli(home, "ssh", "config", "--server", server.url, "--key-file", keyFile);
  if (code !== 0) throw new Error(`berth ssh config failed: ${stderr}`);
  const config = ["-F", join(folder, ".ssh/berth/config")];
  const flags = [...config, "-o", "SendEnv=LC_*", "-o", `ControlPath=${join(folder, "%C")}`];
  const masters: ChildProcess[] = [];

  async function run(program: string, args: string[], { input = "", env = {} }: RunOptions = {}): Promise<Ran> {
    const child = spawn(program, args, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...env } });
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const [stdout, stderr, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number | null>((resolve) => child.once("exit", resolve)),
    ]);
    return { code, stdout, stderr };
  }

  return {
    folder,
    flags,
    // Only a connection that has been made takes commands.
    async share(host) {
      masters.push(spawn("ssh", [...flags, "-MN", host], { stdio: "ignore" }));
      await vi.waitFor(async () => expect((await run("ssh", [...flags, "-O", "check", host])).code).toBe(0), { timeout: 20_000 });
    },
    run,
    ssh: (...args) => run("ssh", [...flags, ...args]),
    async [Symbol.asyncDispose]() {
      await Promise.all(masters.map(endSsh));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
