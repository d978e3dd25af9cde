import { readFileIfReadable } from "./bounded-io/read-small-file.ts";

// The number of files and sockets that this process may open. Infinity where the system does not say. Node has already raised the soft
// limit to the hard one.
export function readOpenFileLimit(): number {
  const limit = /^Max open files\s+(\d+)/m.exec(readFileIfReadable("/proc/self/limits") ?? "")?.[1];
  return limit === undefined ? Infinity : Number(limit);
}

const ENOUGH = 4096;
// The store, the log, and what requests open for a moment.
const RESERVE = 128;
const MIN_CONNECTIONS = 16;

// Half of the rest: a WebSocket needs a connection of the caller's and one to the sandbox.
export const maxConnectionsFor = (openFiles: number): number => Math.max(MIN_CONNECTIONS, Math.floor((openFiles - RESERVE) / 2));

// A sentence for the operator about the limit, or undefined if it is high enough.
export function describeLowLimit(openFiles: number): string | undefined {
  if (openFiles >= ENOUGH) return undefined;
  return `The server may open ${openFiles} files, which is enough for ${maxConnectionsFor(openFiles)} connections. Raise the limit (\`ulimit -n\`, LimitNOFILE= in systemd, --ulimit nofile= in Docker) to ${ENOUGH} or more.`;
}
