import { once } from "node:events";
import { createServer, type AddressInfo, type ListenOptions, type Socket } from "node:net";
import { playAnswer, type AnswerPlan } from "./answers.ts";

// The server behind a relay. It waits for requests that name a case and sends that case's response. Requests without a case get
// a valid response, so that targets that fuzz the client side can use the same server.
export interface HostileServer extends AsyncDisposable {
  port: number;
  // Prepares the response of a case.
  expect(caseId: string, plan: AnswerPlan): Staged;
}

export interface Staged extends Disposable {
  // Resolves to the connection when the response was sent.
  played: Promise<Socket>;
}

export interface HostileServerOptions {
  listen: ListenOptions;
  // Finds the case in the head of a request.
  caseOf: (head: string) => string | undefined;
  friendly: string;
}

const MAX_HEAD_BYTES = 64 * 1024;

export async function openHostileServer({ listen, caseOf, friendly }: HostileServerOptions): Promise<HostileServer> {
  const staged = new Map<string, { plan: AnswerPlan; played: (socket: Socket) => void }>();
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.on("end", () => socket.end());
    let head = "";
    let busy = false;
    socket.on("data", (part: Buffer) => {
      if (busy) return;
      head = (head + part.toString("latin1")).slice(-MAX_HEAD_BYTES);
      if (!head.includes("\r\n\r\n")) return;
      const caseId = caseOf(head);
      const found = caseId === undefined ? undefined : staged.get(caseId);
      head = "";
      if (!found) return void socket.write(friendly);
      busy = true;
      void playAnswer(socket, found.plan).then(() => {
        busy = false;
        found.played(socket);
      });
    });
  });
  await once(server.listen(listen), "listening");
  return {
    port: (server.address() as AddressInfo | null)?.port ?? 0,
    expect(caseId, plan) {
      const { promise, resolve } = Promise.withResolvers<Socket>();
      staged.set(caseId, { plan, played: resolve });
      return { played: promise, [Symbol.dispose]: () => void staged.delete(caseId) };
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

// Resolves when the connection is closed by either side.
export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once("close", () => resolve());
  });
