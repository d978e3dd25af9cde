import { Resolver } from "node:dns/promises";
import { readFileIfReadable } from "../bounded-io/read-small-file.ts";

const TIMEOUT_MS = 3_000;
const TRIES = 2;
const HOSTS_FILE = "/etc/hosts";
const LOOPBACK = ["127.0.0.1", "::1"];

// c-ares, because `dns.lookup` blocks one of the few threads of libuv's pool per name: a few names whose server never answers
// would stop all file and name lookups of the process.
const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });

// Resolves a name through the name servers. Returns IPv4 addresses first; throws if there are none.
export async function resolveName(host: string): Promise<string[]> {
  // RFC 6761: these names never go to a name server.
  if (host === "localhost" || host.endsWith(".localhost")) return LOOPBACK;
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  const failure = answers.find((answer) => answer.status === "rejected");
  if (addresses.length === 0 && failure) throw failure.reason;
  return addresses;
}

// Like `resolveName`, but looks into this machine's hosts file first.
export async function resolveLocalName(host: string): Promise<string[]> {
  const listed = addressesInHosts(readFileIfReadable(HOSTS_FILE) ?? "", host);
  return listed.length > 0 ? listed : resolveName(host);
}

export function addressesInHosts(text: string, host: string): string[] {
  return text
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/))
    .flatMap(([address, ...names]) => (address && names.includes(host.toLowerCase()) ? [address] : []));
}
