import { readFileSync } from "node:fs";
import type { Socket } from "node:net";

// The user whose process is at the other end of a connection within this machine. undefined if the kernel does not list it, for
// instance because it is in another network namespace, or if this is not Linux.
export function readPeerUser(socket: Pick<Socket, "remotePort" | "localPort">): number | undefined {
  if (process.platform !== "linux" || socket.remotePort === undefined || socket.localPort === undefined) return undefined;
  const [theirs, ours] = [hexPort(socket.remotePort), hexPort(socket.localPort)];
  for (const file of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    for (const line of readTable(file)) {
      const [, local = "", remote = "", , , , , uid = ""] = line.trim().split(/\s+/);
      if (local.endsWith(theirs) && remote.endsWith(ours) && isLoopback(local)) return Number(uid);
    }
  }
  return undefined;
}

const hexPort = (port: number) => `:${port.toString(16).toUpperCase().padStart(4, "0")}`;

// The kernel prints each group of four bytes in the byte order of the machine: 127.0.0.1 ends in 7F on all that we run on.
const isLoopback = (address: string) =>
  /^[0-9A-F]{6}7F:/.test(address) || /^0{16}FFFF0000[0-9A-F]{6}7F:/.test(address) || address.startsWith(`${"0".repeat(24)}01000000:`);

function readTable(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").slice(1);
  } catch {
    // There is no tcp6 without IPv6.
    return [];
  }
}
