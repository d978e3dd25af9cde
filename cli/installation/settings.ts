import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { readConfig, type Config } from "@berth/server/config/config.ts";
import { escapeControls } from "../terminal/escape-controls.ts";
import { style } from "../terminal/style.ts";
import { VARIABLES } from "@berth/server/config/variables.ts";
import { findRunningServers, type RunningServer } from "./running-servers.ts";

export const STORE_FILE = "berth.db";

type Env = Record<string, string | undefined>;

const ADDRESS = ["BERTH_PORT", "PORT", "BERTH_HOST", "BERTH_BASE_URL"];
const IDENTIFYING = ["BERTH_DATA_DIR", "BERTH_DATABASE_URL", "BERTH_DATABASE_URL_FILE"];
const PATHS = /^BERTH_(DATA_DIR|TEMPLATES|KUBECONFIG|REGISTRY_AUTH|REGISTRY_CERTIFICATES|\w+_FILE)$/;

// The settings of the installation that a command works on. If they name none and there is none in this folder, it is the one
// whose server runs on this machine. If its server runs, what this command's own environment leaves open is as the server has it:
// its address, its templates, its prices.
export async function readSettings(env: Env = process.env): Promise<Config> {
  const dataDir = resolve(env.BERTH_DATA_DIR || VARIABLES.dataDir.default);
  const isNamed = IDENTIFYING.some((name) => env[name]) || existsSync(join(dataDir, STORE_FILE));
  const servers = await findRunningServers();
  const server = isNamed ? servers.find((running) => isOf(running, dataDir, env)) : chooseServer(servers);
  if (!server) return readConfig(env).config;
  if (!isNamed)
    process.stderr.write(
      `${style.dim(escapeControls(`Using the installation in ${server.dataDir}, whose server runs (process ${server.pid}).`))}\n`,
    );
  return readConfig(completeFrom(server, env)).config;
}

const isOf = (server: RunningServer, dataDir: string, { BERTH_DATA_DIR, BERTH_DATABASE_URL }: Env): boolean =>
  server.dataDir === dataDir || (!BERTH_DATA_DIR && !!BERTH_DATABASE_URL && server.env.BERTH_DATABASE_URL === BERTH_DATABASE_URL);

function completeFrom(server: RunningServer, env: Env): Env {
  const own = Object.entries(env).filter(([, value]) => value);
  const names = own.map(([name]) => name);
  // A secret may be in its variable or in a file, and the address in several variables: what the command sets replaces all of them.
  const replaced = new Set(names.flatMap((name) => [name, `${name}_FILE`, name.replace(/_FILE$/, "")]));
  if (ADDRESS.some((name) => replaced.has(name))) for (const name of ADDRESS) replaced.add(name);
  const rest = Object.entries(server.env)
    .filter(([name]) => !replaced.has(name))
    .map(([name, value]) => [name, value && PATHS.test(name) ? resolve(server.folder, value) : value]);
  return Object.fromEntries([...rest, ...own]) as Env;
}

export function chooseServer(servers: readonly RunningServer[]): RunningServer | null {
  if (servers.length < 2) return servers[0] ?? null;
  const folders = servers.map(({ dataDir }) => dataDir).toSorted();
  throw new Error(`Several servers run on this machine. Set BERTH_DATA_DIR to the data folder of one of them: ${folders.join(", ")}`);
}
