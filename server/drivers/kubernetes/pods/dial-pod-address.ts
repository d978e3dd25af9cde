import type { Socket } from "node:net";
import type { V1Pod } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import { connectSocket } from "../../../bounded-io/connect-socket.ts";
import { DAEMON_PORT } from "../cluster/names.ts";

// Connects to the daemon at the address that the given pod had when it was read.
export async function dialPodAddress(pod: V1Pod, signal: AbortSignal): Promise<Socket> {
  try {
    return await connectSocket({ host: pod.status?.podIP ?? "", port: DAEMON_PORT, noDelay: true }, signal);
  } catch (cause) {
    throw signal.aborted ? signal.reason : new AppError("sandbox_unreachable", { cause });
  }
}
