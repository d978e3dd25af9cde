import { createWebSocketStream } from "ws";
import { AppError } from "@berth/contract/errors.ts";
import type { SshHost } from "@berth/contract/daemon.ts";
import type { Pauses } from "../http/pauses.ts";
import { sendJson } from "../http/reply.ts";
import type { Route, UpgradeRoute } from "../http/route.ts";
import { acceptSocket } from "../http/sockets.ts";
import type { StartedProgram } from "../program-list/started-program.ts";
import type { Ssh, SshDeps } from "./ssh.ts";

export interface SshRoutes {
  routes: Route[];
  upgrades: UpgradeRoute[];
  programs(): StartedProgram[];
  // Ends all connections and what runs in them.
  stop(): void;
}

// The part that speaks SSH is loaded with the first connection.
export function createSshRoutes({ pauses, ...deps }: SshDeps & { pauses: Pick<Pauses, "onGone"> }): SshRoutes {
  let loaded: Ssh | null = null;
  let loading: Promise<Ssh> | null = null;
  const load = () =>
    (loading ??= import("./ssh.ts")
      .then(({ createSsh }) => (loaded = createSsh(deps)))
      .catch((error: unknown) => {
        loading = null;
        throw error;
      }));

  return {
    programs: () => loaded?.programs() ?? [],
    stop: () => loaded?.stop(),
    routes: [
      {
        method: "GET",
        path: "/ssh",
        async handle({ response }) {
          const { hostKey } = await load();
          sendJson(response, 200, { hostKey } satisfies SshHost);
        },
      },
    ],
    upgrades: [
      {
        path: "/ssh",
        async upgrade(call) {
          const ssh = await load();
          if (ssh.isFull)
            throw new AppError("too_many", { message: "There are too many SSH connections to this session; close one first" });
          acceptSocket(call, (socket) => {
            let wasPaused = true;
            pauses.onGone(socket, () => (wasPaused = false));
            const transport = createWebSocketStream(socket);
            // By itself it would wait for the end of what we send.
            socket.once("close", () => transport.destroy());
            ssh.attach(transport, { wasPaused: () => wasPaused });
          });
        },
      },
    ],
  };
}
