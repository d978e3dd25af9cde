import { on, once } from "node:events";
import { WebSocket } from "ws";
import type { Terminal } from "@berth/contract/daemon.ts";
import type { Installation } from "./installation.ts";

export const ACTIONS = ["create", "exec", "keystroke", "webhook"] as const;
export type Action = (typeof ACTIONS)[number];
// The duration of each action of a step, in milliseconds.
export type Times = Partial<Record<Action, number>>;

// The victim's usual work. Each step throws if a request was refused or a result was lost.
export interface Victim extends AsyncDisposable {
  // Creates a session, waits for its webhook and destroys it.
  session(): Promise<Times>;
  exec(): Promise<Times>;
  keystroke(): Promise<Times>;
}

const COMMANDS = ["exec", "keystroke", "keystroke"] as const;

// One round: a session, six commands and twelve keystrokes.
export const STEPS = ["session", ...Array.from({ length: 6 }, () => COMMANDS).flat()] as const;

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

  return {
    async session() {
      const startMs = performance.now();
      const { sessionId } = await api.create({ externalUserId: "another", autoStartAgent: false });
      const createdMs = performance.now();
      const deliveredMs = await delivered(sessionId);
      const { status } = await api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
      if (status !== 200) throw new Error(`DELETE answered ${status}`);
      return { create: createdMs - startMs, webhook: Math.max(0, deliveredMs - createdMs) };
    },
    async exec() {
      const startMs = performance.now();
      const { code, stdout } = await api.exec(session.sandboxId, ["echo", "well"]);
      if (code !== 0 || stdout !== "well\n") throw new Error(`exec printed ${JSON.stringify(stdout)} and ended with ${code}`);
      return { exec: performance.now() - startMs };
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
      return { keystroke: performance.now() - startMs };
    },
    async [Symbol.asyncDispose]() {
      socket.terminate();
      await api.call("DELETE", `${base}/terminals/${id}`).catch(() => undefined);
    },
  };
}
