import { join } from "node:path";
import { type Berth, BerthError, ConnectionError, createBerth, TimeoutError } from "@berth/client";
import { readFileIfExists } from "@berth/server/bounded-io/read-small-file.ts";
import type { Config } from "@berth/server/config/config.ts";
import { DEMO_KEY_FILE, DEMO_PARTNER } from "@berth/server/keys/seed.ts";
import { readSettings } from "./settings.ts";

export interface ServerCall extends Berth {
  baseUrl: string;
  apiKey: string;
}

// A server that is not on this machine.
export interface OtherServer {
  baseUrl: string;
  apiKey: string;
}

// Works with the API of the running server, like the backend of a partner: with BERTH_API_KEY, or with the key of the partner `demo`.
export async function withServer(work: (berth: ServerCall) => Promise<void>, other?: OtherServer): Promise<void> {
  const { baseUrl, apiKey } = other ?? (await findServerAndKey());
  await fetch(`${baseUrl}/healthz`, { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) }).catch((error: unknown) => fail(baseUrl, error));
  const berth = createBerth({ apiKey, baseUrl, timeoutMs: CALL_TIMEOUT_MS, maxRetries: 0 });
  await work({ ...berth, baseUrl, apiKey }).catch((error: unknown) => fail(baseUrl, error));
}

// The address of the server on this machine.
export const findServer = async (): Promise<string> => addressOf(await readSettings());

async function findServerAndKey(): Promise<OtherServer> {
  const config = await readSettings();
  return { baseUrl: addressOf(config), apiKey: await readKey(config) };
}

// The server may listen on all addresses; it is on this machine in any case.
function addressOf({ host, port }: Config): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

async function readKey({ apiKey, dataDir }: Config): Promise<string> {
  const key = apiKey ?? (await readFileIfExists(join(dataDir, DEMO_KEY_FILE)))?.trim();
  if (key) return key;
  throw new Error(
    `There is no key of the partner ${DEMO_PARTNER} in ${dataDir}. Start a server with \`berth serve\`, set BERTH_DATA_DIR to its data folder, or issue a key with \`berth key issue ${DEMO_PARTNER}\` and set BERTH_API_KEY to it.`,
  );
}

// A server that does not hang answers this at once, and other calls within the time that a sandbox needs to start.
const HEALTH_TIMEOUT_MS = 10_000;
const CALL_TIMEOUT_MS = 150_000;

function fail(base: string, error: unknown): never {
  if (error instanceof BerthError && error.status !== undefined)
    throw new Error(`The server answered ${error.status}: ${error.message}.`, { cause: error });
  if (error instanceof TimeoutError || (error instanceof Error && error.name === "TimeoutError"))
    throw new Error(`The server at ${base} does not answer. Look at its log; \`berth down --force\` ends it if it hangs.`, {
      cause: error,
    });
  if (error instanceof ConnectionError || error instanceof TypeError)
    throw new Error(`No server answers at ${base}. Start it with \`berth serve\`, or set BERTH_PORT to its port.`, { cause: error });
  throw error;
}
