import { isIP } from "node:net";
import { createHostResolver, type HostResolverOptions, type Resolve } from "../../network/host-resolver.ts";
import { resolveName } from "../../network/resolve-name.ts";
import { splitPort } from "../../egress-hosts.ts";

export type { Resolve } from "../../network/host-resolver.ts";

// Resolves names for sandboxes through the name servers, without the hosts file of this machine and without the threads of the
// system's resolver, because a sandbox can request any number of names that never answer. Names that the operator allowed are
// resolved as this machine does (hosts file, search domains). They are few, looked up one at a time and cached, so a sandbox
// cannot exhaust the threads with them.
export function createResolve(allow: readonly string[], options: HostResolverOptions = {}): Resolve {
  const names = allow.map((entry) => splitPort(entry.toLowerCase()).name).filter((name) => isIP(name) === 0);
  const lookUpAllowed = createHostResolver(options);
  const allowed = new Set(names);
  return (host) => (allowed.has(host) ? lookUpAllowed(host) : resolveName(host));
}
