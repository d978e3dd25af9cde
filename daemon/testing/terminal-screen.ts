import { once } from "node:events";
import { expect } from "vitest";
import type { Terminal, TerminalFromDaemon } from "@berth/contract/daemon.ts";
import type { WebSocket } from "ws";
import type { TestDaemon } from "./test-daemon.ts";

// A browser's copy of a terminal.
export interface Screen {
  socket: WebSocket;
  messages: TerminalFromDaemon[];
  bytes: number;
  text(): string;
  shows(text: string): Promise<void>;
  type(text: string): void;
  close(): Promise<void>;
}

export async function createTerminal(daemon: TestDaemon, body: object = {}): Promise<Terminal> {
  const response = await daemon.fetch<Terminal>("/terminals", {
    method: "POST",
    body: { cols: 80, rows: 24, command: ["/bin/sh"], ...body },
  });
  expect(response.status).toBe(201);
  return response.json;
}

// Connects to a terminal as a browser does. The offset is that of the last byte that the browser has seen.
export async function attachScreen(daemon: TestDaemon, id: string, offset?: number, headers?: Record<string, string>): Promise<Screen> {
  const socket = daemon.connect(`/terminals/${id}${offset === undefined ? "" : `?offset=${offset}`}`, headers);
  const messages: TerminalFromDaemon[] = [];
  let tail = "";
  const screen: Screen = {
    socket,
    messages,
    bytes: 0,
    text: () => tail,
    shows: async (text) => await expect.poll(() => tail).toContain(text),
    type: (text) => socket.send(Buffer.from(text), { binary: true }),
    async close() {
      if (socket.readyState === socket.CLOSED) return;
      socket.close();
      await once(socket, "close");
    },
  };
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    if (!isBinary) return void messages.push(JSON.parse(data.toString()));
    screen.bytes += data.length;
    tail = (tail + data.toString("latin1")).slice(-20_000);
  });
  await once(socket, "open");
  return screen;
}
