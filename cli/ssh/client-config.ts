import { readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readFileIfExists } from "@berth/server/bounded-io/read-small-file.ts";
import { writePrivateFile } from "@berth/server/data-folder/private-file.ts";
import type { AccessOptions } from "./access.ts";

// The settings of the system's ssh for hosts `{sessionId}.berth`.

const SUFFIX = ".berth";
const sshFolder = (): string => join(homedir(), ".ssh");

export const hostOf = (sessionId: string): string => `${sessionId}${SUFFIX}`;

export function sessionOf(host: string): string {
  const id = host.endsWith(SUFFIX) ? host.slice(0, -SUFFIX.length) : host;
  if (!/^[a-z0-9_]{1,64}$/.test(id)) throw new Error(`${host} is not the host of a session. It must be an id of a session with ${SUFFIX}.`);
  return id;
}

// The proxy brings the host key before the first byte, in a file for each host, so that ssh has nothing to ask.
export function sshOptions(access: AccessOptions): [name: string, value: string][] {
  const program = [process.execPath, fileURLToPath(new URL("../bin.js", import.meta.url)), "ssh", "proxy"];
  const options = [
    ...(access.server === undefined ? [] : ["--server", access.server]),
    ...(access.keyFile === undefined ? [] : ["--key-file", resolve(access.keyFile)]),
    ...(access.tokenFile === undefined ? [] : ["--token-file", resolve(access.tokenFile)]),
  ];
  const knownHosts = join(sshFolder(), "berth/known_hosts");
  const words = [...program, ...options, "--known-hosts", knownHosts].map(quote);
  return [
    ["ProxyCommand", `${words.join(" ")} %n`],
    ["UserKnownHostsFile", `"${knownHosts.replaceAll("%", "%%")}/%n"`],
    ["StrictHostKeyChecking", "yes"],
    ["CheckHostIP", "no"],
    ["UpdateHostKeys", "no"],
    // The connection has its own; those of ssh would count as use of the session.
    ["ServerAliveInterval", "0"],
    ["IgnoreUnknown", "WarnWeakCrypto"],
    // The bytes travel in the server's TLS.
    ["WarnWeakCrypto", "no"],
  ];
}

// A shell starts the command, and ssh replaces what follows a percent sign.
const quote = (word: string): string => (/^[\w@+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`).replaceAll("%", "%%");

export interface WrittenConfig {
  config: string;
  own: string;
}

// Writes our settings to a file of their own, and includes it in the person's, in which nothing else changes.
export async function writeClientConfig(access: AccessOptions): Promise<WrittenConfig> {
  const own = join(sshFolder(), "berth/config");
  const lines = sshOptions(access).map(([name, value]) => `  ${name} ${value}`);
  await writePrivateFile(own, ["# Written by `berth ssh config`.", `Host *${SUFFIX}`, ...lines, ""].join("\n"));
  const config = realPath(join(sshFolder(), "config"));
  const text = (await readFileIfExists(config)) ?? "";
  // First, because ssh takes the first value that it finds. Below a Host line it would be for that host only.
  if (!/^\s*Include\s+"?berth\/config"?\s*$/im.test(text)) await writePrivateFile(config, `Include berth/config\n\n${text}`);
  return { config, own };
}

// The file that a link leads to, so that the link stays.
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

const FORGET_AFTER_MS = 30 * 24 * 3_600_000;

// Writes the file that ssh reads when it verifies the host, one for each.
export async function writeKnownHost(folder: string, sessionId: string, hostKey: string): Promise<void> {
  const line = `${hostOf(sessionId)} ${hostKey}\n`;
  const file = join(folder, hostOf(sessionId));
  if ((await readFileIfExists(file)) === line) return;
  await writePrivateFile(file, line);
  // Those of sessions that are long gone.
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (Date.now() - statSync(path).mtimeMs > FORGET_AFTER_MS) rmSync(path, { force: true });
  }
}
