import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { callbackify } from "node:util";

export type Resolve = (host: string) => Promise<string[]>;

export interface HostResolverOptions {
  lookUp?: Resolve;
  nowMs?: () => number;
}

const CACHE_MS = 10_000;

// Resolves names as the host does, with its hosts file and search domains, for names that the operator has chosen. The system's
// resolver blocks one of the process's few threads for each name. So one name is looked up at a time, and the answer, which may be
// a failure, is cached.
export function createHostResolver({ lookUp = lookUpAsHost, nowMs = () => performance.now() }: HostResolverOptions = {}): Resolve {
  const cached = new Map<string, { untilMs: number; addresses: Promise<string[]> }>();
  let last: Promise<unknown> = Promise.resolve();
  return (host) => {
    const known = cached.get(host);
    if (known && nowMs() < known.untilMs) return known.addresses;
    const entry = { untilMs: Infinity, addresses: last.then(() => lookUp(host)) };
    const keep = () => (entry.untilMs = nowMs() + CACHE_MS);
    last = entry.addresses.then(keep, keep);
    cached.set(host, entry);
    return entry.addresses;
  };
}

// The `lookup` option of node:net and node:http.
export function toLookup(resolve: Resolve): LookupFunction {
  const resolveWithCallback = callbackify(resolve);
  return (host, { all }, done) =>
    resolveWithCallback(host, (error: NodeJS.ErrnoException | null, addresses) => {
      if (error) return done(error, []);
      const found = addresses.map((address) => ({ address, family: isIP(address) }));
      if (all) done(null, found);
      else done(null, found[0]?.address ?? "", found[0]?.family);
    });
}

const lookUpAsHost: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);
