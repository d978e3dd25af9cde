import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { readConfig, type Config } from "@berth/server/config/config.ts";
import { escapeControls } from "../terminal/escape-controls.ts";
import { style } from "../terminal/style.ts";
import { findRunningServers, type RunningServer } from "./running-servers.ts";

export const STORE_FILE = "berth.db";

const ADDRESS = ["BERTH_PORT", "PORT", "BERTH_HOST", "BERTH_BASE_URL"];
const IDENTIFYING = ["BERTH_DATA_DIR", "BERTH_DATABASE_URL", "BERTH_DATABASE_URL_FILE"];

// The settings of the installation that a command works on. If they name none and there is none in this folder, it is the one
// whose server runs on this machine.
export async function readSettings(env: Record<string, string | undefined> = process.env): Promise<Config> {
  const { config } = readConfig(env);
  if (IDENTIFYING.some((name) => env[name]) || existsSync(join(config.dataDir, STORE_FILE))) return withRunningAddress(config, env);
  const server = chooseServer(await findRunningServers());
  if (!server) return config;
  process.stderr.write(
    `${style.dim(escapeControls(`Using the installation in ${server.dataDir}, whose server runs (process ${server.pid}).`))}\n`,
  );
  // Its settings may contain paths that are relative to its folder.
  process.chdir(server.folder);
  return readConfig(server.env).config;
}

// The server of this installation may have been started with another address than the default.
async function withRunningAddress(config: Config, env: Record<string, string | undefined>): Promise<Config> {
  if (ADDRESS.some((name) => env[name])) return config;
  const server = (await findRunningServers()).find(({ dataDir }) => dataDir === resolve(config.dataDir));
  if (!server) return config;
  const address = Object.fromEntries(ADDRESS.flatMap((name) => (server.env[name] ? [[name, server.env[name]]] : [])));
  return readConfig({ ...env, ...address }).config;
}

export function chooseServer(servers: readonly RunningServer[]): RunningServer | null {
  if (servers.length < 2) return servers[0] ?? null;
  const folders = servers.map(({ dataDir }) => dataDir).toSorted();
  throw new Error(`Several servers run on this machine. Set BERTH_DATA_DIR to the data folder of one of them: ${folders.join(", ")}`);
}
