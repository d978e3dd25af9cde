import { join } from "node:path";
import type { ErrorBody } from "@berth/contract";
import { readFileIfExists } from "@berth/server/bounded-io/read-small-file.ts";
import type { Config } from "@berth/server/config/config.ts";
import { DEMO_KEY_FILE, DEMO_PARTNER } from "@berth/server/keys/seed.ts";
import { readSettings } from "./settings.ts";

export type ServerCall = <T>(path: string, body?: object) => Promise<T>;

// Calls the API of the running server, like the backend of a partner: with BERTH_API_KEY, or with the key of the partner `demo`.
export async function openCaller(): Promise<ServerCall> {
  const config = await readSettings();
  return caller(addressOf(config), await readKey(config));
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

const caller =
  (base: string, key: string) =>
  async <T>(path: string, body?: object): Promise<T> => {
    const fail = (cause: unknown) => {
      if (cause instanceof Error && cause.name === "TimeoutError")
        throw new Error(`The server at ${base} does not answer. Look at its log; \`berth down --force\` ends it if it hangs.`, { cause });
      throw new Error(`No server answers at ${base}. Start it with \`berth serve\`, or set BERTH_PORT to its port.`, { cause });
    };
    await fetch(`${base}/healthz`, { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) }).catch(fail);
    const response = await fetch(`${base}${path}`, {
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    }).catch(fail);
    const reply = (await response.json()) as T & ErrorBody;
    if (response.ok) return reply;
    const faults = reply.details?.map(({ field, message }) => `${field}: ${message}`).join(", ");
    throw new Error(`The server answered ${response.status}: ${reply.error}${faults ? ` (${faults})` : ""}.`);
  };
