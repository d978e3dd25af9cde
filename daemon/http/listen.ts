import type { Server } from "node:net";

type Address = { path: string } | { host: "127.0.0.1" | "0.0.0.0"; port: number };

// Equivalent to `server.listen(address)` in a process without cluster workers. The public method loads `node:cluster`
// only to find out that there are no workers, and that module is a tenth of everything the daemon loads. This is the
// only private Node API that the daemon calls; listen.test.ts fails when a new version of Node changes it.
export function listen(server: Server, address: Address): void {
  const { _listen2: listenDirectly } = server as unknown as { _listen2?: (host: string, port: number, family: number) => void };
  if (!listenDirectly) server.listen(address);
  else if ("path" in address) listenDirectly.call(server, address.path, -1, -1);
  else listenDirectly.call(server, address.host, address.port, 4);
}
