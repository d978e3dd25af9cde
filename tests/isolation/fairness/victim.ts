import { on, once } from "node:events";
import { WebSocket } from "ws";
import type { Terminal } from "@berth/contract/daemon.ts";
import type { Installation } from "./installation.ts";

// What the victim does all day. Each call does it once and returns how many milliseconds it took; it throws when
// something was refused or lost.
export interface Victim extends AsyncDisposable {
  create(): Promise<number>;
  exec(): Promise<number>;
  keystroke(): Promise<number>;
  webhook(): Promise<number>;
}

export const ACTIONS = ["create", "exec", "keystroke", "webhook"] as const;

export async function openVictim({ berth, victim, delivered }: Installation): Promise<Victim> {
  const { api, key, session } = victim;
  const base = `/sandboxes/${session.sandboxId}`;
  const created = await api.call("POST", `${base}/terminals`, { cols: 80, rows: 24, command: ["cat"] });
  if (created.status !== 201) throw new Error(`the terminal was refused: ${JSON.stringify(created.body)}`);
  const { id } = created.body as Terminal;
  const socket = new WebSocket(`${berth.url.replace("http", "ws")}${base}/terminals/${id}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await once(socket, "open");
  let typed = 0;

  async function makeSession({ untilDelivered }: { untilDelivered: boolean }): Promise<number> {
    const startMs = performance.now();
    const { sessionId } = await api.create({ externalUserId: "another", autoStartAgent: false });
    const createdMs = performance.now();
    if (untilDelivered) await delivered(sessionId);
    const tookMs = (untilDelivered ? performance.now() : createdMs) - (untilDelivered ? createdMs : startMs);
    const { status } = await api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
    if (status !== 200) throw new Error(`DELETE answered ${status}`);
    return tookMs;
  }

  return {
    create: () => makeSession({ untilDelivered: false }),
    webhook: () => makeSession({ untilDelivered: true }),
    async exec() {
      const startMs = performance.now();
      const { code, stdout } = await api.exec(session.sandboxId, ["echo", "well"]);
      if (code !== 0 || stdout !== "well\n") throw new Error(`exec printed ${JSON.stringify(stdout)} and ended with ${code}`);
      return performance.now() - startMs;
    },
    async keystroke() {
      const character = String.fromCharCode(97 + (typed++ % 26));
      const startMs = performance.now();
      const echoed = (async () => {
        for await (const [data, isBinary] of on(socket, "message", { close: ["close"] }) as AsyncIterable<[Buffer, boolean]>)
          if (isBinary && data.toString().includes(character)) return;
        throw new Error("the terminal's socket was closed");
      })();
      socket.send(Buffer.from(character));
      await echoed;
      return performance.now() - startMs;
    },
    async [Symbol.asyncDispose]() {
      socket.terminate();
      await api.call("DELETE", `${base}/terminals/${id}`).catch(() => undefined);
    },
  };
}
