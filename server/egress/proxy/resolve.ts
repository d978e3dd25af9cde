import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { resolveName } from "../../network/resolve-name.ts";
import { splitPort } from "../policy/allowances.ts";

export type Resolve = (host: string) => Promise<string[]>;

// Resolves names for sandboxes through the name servers, without the hosts file of this machine and without the threads of the
// system's resolver, because a sandbox can request any number of names that never answer. Names that the operator allowed are
// resolved as this machine does (hosts file, search domains). They are few, looked up one at a time and cached, so a sandbox
// cannot exhaust the threads with them.
export function createResolve(allow: readonly string[], { lookUp = lookUpWithSystem, nowMs = () => performance.now() } = {}): Resolve {
  const names = allow.map((entry) => splitPort(entry.toLowerCase()).name).filter((name) => isIP(name) === 0);
  const lookUpAllowed = cacheOneAtATime(lookUp, nowMs);
  const allowed = new Set(names);
  return (host) => (allowed.has(host) ? lookUpAllowed(host) : resolveName(host));
}

const CACHE_MS = 10_000;

const lookUpWithSystem: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

function cacheOneAtATime(lookUp: Resolve, nowMs: () => number): Resolve {
  const cache = new Map<string, { untilMs: number; addresses: Promise<string[]> }>();
  let last: Promise<unknown> = Promise.resolve();
  return (host) => {
    const known = cache.get(host);
    if (known && nowMs() < known.untilMs) return known.addresses;
    const entry = { untilMs: Infinity, addresses: last.then(() => lookUp(host)) };
    // Failures are cached too.
    last = entry.addresses.then(
      () => (entry.untilMs = nowMs() + CACHE_MS),
      () => (entry.untilMs = nowMs() + CACHE_MS),
    );
    cache.set(host, entry);
    return entry.addresses;
  };
}
