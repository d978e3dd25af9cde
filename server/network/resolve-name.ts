import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";

// Resolves names with c-ares. The system's resolver (`dns.lookup`) blocks one of the process's few threads for each name,
// so a few names whose server never answers would stop file and name lookups of everyone.

const TIMEOUT_MS = 3_000;
const TRIES = 2;
const HOSTS_FILE = "/etc/hosts";
const LOOPBACK = ["127.0.0.1", "::1"];

const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });

// The addresses that the name servers know, IPv4 first. Throws when they know none.
export async function resolveName(host: string): Promise<string[]> {
  // RFC 6761: these never go to a name server.
  if (host === "localhost" || host.endsWith(".localhost")) return LOOPBACK;
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  const failure = answers.find((answer) => answer.status === "rejected");
  if (addresses.length === 0 && failure) throw failure.reason;
  return addresses;
}

// As `resolveName`, but the names in this machine's hosts file come first.
export async function resolveLocalName(host: string): Promise<string[]> {
  const text = await readFile(HOSTS_FILE, "utf8").catch(() => "");
  const listed = addressesInHosts(text, host);
  return listed.length > 0 ? listed : resolveName(host);
}

export function addressesInHosts(text: string, host: string): string[] {
  return text
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/))
    .flatMap(([address, ...names]) => (address && names.includes(host.toLowerCase()) ? [address] : []));
}
