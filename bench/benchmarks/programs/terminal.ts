import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import type { Terminal } from "@berth/contract/daemon.ts";
import { openPty, type Pty } from "../../../daemon/programs/pty/pty.ts";
import { startBareRelays, type BareRelays } from "../../baselines/bare-relays.ts";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import type { Row, Section } from "../../report/report.ts";
import { percentile } from "../../report/statistics.ts";
import { formatNumber } from "../../report/table.ts";
import { alternate, timed } from "../../support/rounds.ts";
import { runProgram } from "../../support/run-program.ts";
import { openServer, type BenchServer } from "../../support/server.ts";

export const benchmark: Benchmark = {
  summary: "echo of a keystroke and a `cat` of 100 MB, through gateway and daemon, beside the same pseudo-terminal read directly",
  async run(run) {
    await using server = await openServer(run, { poolSize: 0 });
    const { sandboxId } = await server.caller.create();
    const folder = await mkdtemp(join(tmpdir(), "berth-bench-"));
    await using _ = run.resources.defer(() => rm(folder, { recursive: true }));
    const relays = await startBareRelays(run, folder);
    const screens = [
      { name: BERTH, open: (command: string) => openThroughGateway(server, sandboxId, command) },
      { name: DIRECT, open: async (command: string) => openDirectly(folder, command) },
    ];
    const withRelays = [...screens, { name: RELAYED, open: (command: string) => openThroughRelays(relays, command) }];
    return [await measureEcho(run, withRelays), await measureOutput(run, server, { sandboxId, folder, screens })];
  },
};

// One end of a terminal. `onBytes` is called with the number of bytes and the last of them.
interface Screen {
  type(text: string): void;
  onBytes: (count: number, last: number) => void;
  close(): Promise<void>;
}

interface NamedScreen {
  name: string;
  open(command: string): Promise<Screen>;
}

const BERTH = "Berth";
const DIRECT = "pseudo-terminal";
// The least that a terminal behind a server and a daemon can take.
const RELAYED = "behind two empty relays";

const MB = 1_000_000;
const MARK = "@";
// How often the client reports what it has drawn, like the workspace.
const DRAWN_BYTES = 128 * 1024;

async function measureEcho(run: Run, screens: NamedScreen[]): Promise<Section> {
  run.progress("keystrokes");
  const opened = await Promise.all(
    screens.map(async ({ name, open }) => ({ name, screen: await open(`stty raw -echo; printf ${MARK}; exec cat`) })),
  );
  const contestants = opened.map(({ name, screen }) => ({ name, round: () => echoes(screen, 100) }));
  const values = await alternate(contestants, { rounds: run.rounds(20, 3), warmUps: 2 });
  for (const { screen } of opened) await screen.close();
  return {
    title: "Echo of a keystroke",
    rows: [...values].map(([what, taken]): Row => {
      if (what === DIRECT) return { what, unit: "ms", values: taken };
      const row: Row = { what, unit: "ms", values: taken, beside: DIRECT };
      const relayed = percentile(values.get(RELAYED)!, 0.5);
      const more = { "of empty relays": formatNumber(percentile(taken, 0.5) / relayed) };
      return what === BERTH ? { ...row, targets: [{ of: "ratio", atMost: 1.5 }], more } : row;
    }),
  };
}

async function echoes(screen: Screen, count: number): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < count; i++) {
    const echoed = Promise.withResolvers<void>();
    screen.onBytes = () => echoed.resolve();
    taken.push(
      await timed(() => {
        screen.type("x");
        return echoed.promise;
      }),
    );
  }
  return taken;
}

async function measureOutput(
  run: Run,
  { caller }: BenchServer,
  { sandboxId, folder, screens }: { sandboxId: string; folder: string; screens: NamedScreen[] },
): Promise<Section> {
  const size = run.isShort ? 10 * MB : 100 * MB;
  run.progress(`${size / MB} MB of output`);
  const make = `yes 0123456789012345678901234567890123456789 | head -c ${size} > big.txt`;
  await caller.exec(sandboxId, make);
  await runProgram("/bin/sh", ["-c", make], { cwd: folder });
  const values = await alternate(
    screens.map(({ name, open }) => ({
      name,
      async round() {
        const screen = await open(`printf ${MARK}; read go; cat big.txt; printf ${MARK}; exec cat`);
        const done = Promise.withResolvers<void>();
        let bytes = 0;
        screen.onBytes = (count, last) => {
          bytes += count;
          if (last === MARK.charCodeAt(0)) done.resolve();
        };
        const tookMs = await timed(() => {
          screen.type("\n");
          return done.promise;
        });
        await screen.close();
        if (bytes < size) throw new Error(`only ${bytes} of ${size} bytes arrived`);
        return [bytes / MB / (tookMs / 1000)];
      },
    })),
    { rounds: run.rounds(3, 1) },
  );
  return {
    title: `\`cat\` of ${size / MB} MB`,
    rows: [...values].map(([what, taken]) => ({
      what,
      unit: "MB/s",
      values: taken,
      ...(what === BERTH && { beside: DIRECT }),
    })),
  };
}

// Every kind prints a mark when its program runs.
async function openDirectly(folder: string, command: string): Promise<Screen> {
  const ready = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();
  const screen: Screen = {
    type: (text) => void pty.write(Buffer.from(text)),
    onBytes: () => ready.resolve(),
    async close() {
      pty.kill("SIGKILL");
      await exited.promise;
    },
  };
  const pty: Pty = openPty({
    command: ["/bin/sh", "-c", command],
    cwd: folder,
    cols: 80,
    rows: 24,
    env: { PATH: process.env.PATH ?? "", TERM: "xterm" },
    onOutput: (bytes) => screen.onBytes(bytes.length, bytes.at(-1)!),
    onExit: () => exited.resolve(),
  });
  await ready.promise;
  return screen;
}

async function openThroughRelays(relays: BareRelays, command: string): Promise<Screen> {
  const socket = await relays.open(command);
  const ready = Promise.withResolvers<void>();
  const screen: Screen = {
    type: (text) => void socket.write(text),
    onBytes: () => ready.resolve(),
    close: async () => void socket.destroy(),
  };
  socket.on("data", (bytes: Buffer) => screen.onBytes(bytes.length, bytes.at(-1)!));
  await ready.promise;
  return screen;
}

async function openThroughGateway({ berth, caller }: BenchServer, sandboxId: string, command: string): Promise<Screen> {
  const request = { cols: 80, rows: 24, command: ["/bin/sh", "-c", command] };
  const { id } = JSON.parse(await caller.call("POST", `/sandboxes/${sandboxId}/terminals`, 201, request)) as Terminal;
  const { port } = new URL(berth.url);
  const socket = new WebSocket(`ws://127.0.0.1:${port}/sandboxes/${sandboxId}/terminals/${id}?offset=0`, {
    headers: { authorization: `Bearer ${berth.key}` },
    perMessageDeflate: false,
  });
  const ready = Promise.withResolvers<void>();
  let received = 0;
  let drawn = 0;
  const screen: Screen = {
    type: (text) => socket.send(Buffer.from(text)),
    onBytes: () => ready.resolve(),
    async close() {
      socket.terminate();
      await caller.call("DELETE", `/sandboxes/${sandboxId}/terminals/${id}`, 204);
    },
  };
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    if (!isBinary) return;
    received += data.length;
    if (received - drawn >= DRAWN_BYTES) socket.send(JSON.stringify({ type: "drawn", offset: (drawn = received) }));
    screen.onBytes(data.length, data.at(-1)!);
  });
  await once(socket, "open");
  await ready.promise;
  return screen;
}
