import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { findServer, withServer } from "../installation/server-call.ts";

// Where a session's SSH is, and what opens it.
export interface SshAccess {
  sandboxUrl: string;
  // An API key, or a session token with the scope `ssh`.
  bearer: string;
}

export interface AccessOptions {
  server?: string;
  keyFile?: string;
  tokenFile?: string;
}

export const addAccessOptions = (command: Command): Command =>
  command
    .addOption(new Option("--server <url>", "address of a server that is not on this machine").env("BERTH_SERVER_URL"))
    .option("--key-file <path>", "a file with an API key for it; otherwise that is BERTH_API_KEY")
    .option("--token-file <path>", "a file with a session token of the scope `ssh` instead; otherwise that is BERTH_SESSION_TOKEN");

export async function findAccess(id: string, { server, keyFile, tokenFile }: AccessOptions): Promise<SshAccess> {
  const token = tokenFile === undefined ? process.env.BERTH_SESSION_TOKEN : readFileSync(tokenFile, "utf8").trim();
  if (token) {
    // A token opens its session by the id of the session, and nothing else of the server.
    const baseUrl = server ?? (await findServer());
    return { sandboxUrl: new URL(`/sandboxes/${id}`, baseUrl).href, bearer: token };
  }
  const found = Promise.withResolvers<SshAccess>();
  const other = server === undefined ? undefined : { baseUrl: server.replace(/\/+$/, ""), apiKey: readKey(keyFile) };
  await withServer(async ({ sessions, baseUrl, apiKey }) => {
    const { sandboxUrl } = await sessions.get(id);
    // The address is for partners, and need not lead to the server from its own machine.
    found.resolve({ sandboxUrl: other ? sandboxUrl : new URL(new URL(sandboxUrl).pathname, baseUrl).href, bearer: apiKey });
  }, other);
  return found.promise;
}

function readKey(file: string | undefined): string {
  const key = file === undefined ? process.env.BERTH_API_KEY : readFileSync(file, "utf8").trim();
  if (key) return key;
  throw new Error("Set BERTH_API_KEY to an API key of the server, or name a file that has one with --key-file.");
}
