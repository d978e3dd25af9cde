import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { resolveName } from "../../network/resolve-name.ts";
import { splitPort } from "../policy/allowances.ts";

export type Resolve = (host: string) => Promise<string[]>;

// Names of sandboxes go to the name servers (c-ares), without the host's own table of names, and without the few threads
// that the system's resolver would take from the rest of the server: a sandbox can ask for any number of names that never
// answer. Names that the operator has allowed are resolved as the host would (hosts file, search domains). They are few,
// and a sandbox cannot multiply them: one at a time is looked up, and the answer is kept for a while.
export function createResolve(allow: readonly string[], { lookUp = lookUpAsHost, nowMs = () => performance.now() } = {}): Resolve {
  const names = allow.map((entry) => splitPort(entry.toLowerCase()).name).filter((name) => isIP(name) === 0);
  const lookUpAllowed = oneAtATime(lookUp, nowMs);
  const allowed = new Set(names);
  return (host) => (allowed.has(host) ? lookUpAllowed(host) : resolveName(host));
}

const KEPT_MS = 10_000;

const lookUpAsHost: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

function oneAtATime(lookUp: Resolve, nowMs: () => number): Resolve {
  const kept = new Map<string, { untilMs: number; addresses: Promise<string[]> }>();
  let last: Promise<unknown> = Promise.resolve();
  return (host) => {
    const known = kept.get(host);
    if (known && nowMs() < known.untilMs) return known.addresses;
    const entry = { untilMs: Infinity, addresses: last.then(() => lookUp(host)) };
    // However it ends: a name that cannot be resolved is not asked for again at once either.
    last = entry.addresses.then(
      () => (entry.untilMs = nowMs() + KEPT_MS),
      () => (entry.untilMs = nowMs() + KEPT_MS),
    );
    kept.set(host, entry);
    return entry.addresses;
  };
}
