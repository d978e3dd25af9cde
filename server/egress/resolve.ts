import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { splitPort } from "./allowances.ts";

export type Resolve = (host: string) => Promise<string[]>;

const TIMEOUT_MS = 3_000;
const TRIES = 2;

// Asks the name servers, without the host's own table of names, and without the few threads that the system's resolver
// would take from the rest of the server: a sandbox can ask for any number of names that never answer. Names that the
// operator has allowed are few and may be in that table, so those are looked up as the host would.
export function createResolve(allow: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  const known = new Set(allow.map((entry) => splitPort(entry.toLowerCase()).name).filter((name) => isIP(name) === 0));
  return async (host) => {
    if (known.has(host)) return (await lookup(host, { all: true })).map(({ address }) => address);
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
}
