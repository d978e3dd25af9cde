import { connect, type Socket } from "node:net";
import type { V1Pod } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import { DAEMON_PORT } from "../cluster/names.ts";

// Connects to the daemon at the address that the given pod had when it was read.
export function dialPodAddress(pod: V1Pod, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const socket = connect({ host: pod.status?.podIP ?? "", port: DAEMON_PORT, noDelay: true });
    const settle = (act: () => void) => {
      signal.removeEventListener("abort", onAbort);
      socket.removeListener("error", onError);
      act();
    };
    const fail = (error: Error) =>
      settle(() => {
        socket.destroy();
        reject(error);
      });
    const onAbort = () => fail(signal.reason as Error);
    const onError = (cause: Error) => fail(new AppError("sandbox_unreachable", { cause }));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", onError);
    socket.once("connect", () => settle(() => resolve(socket)));
  });
}
