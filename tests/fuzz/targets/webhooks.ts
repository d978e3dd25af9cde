import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { anyAnswer, playAnswer, type AnswerPlan } from "../traffic/answers.ts";
import { createApi } from "../../support/servers/api.ts";
import type { Berth } from "../../support/servers/berth.ts";
import type { BerthWorld } from "../berth-world.ts";
import { closed } from "../traffic/hostile-server.ts";
import { defineTarget, type Finding } from "../target.ts";
import { anyText } from "../traffic/values.ts";

const WORKERS = 4;
// A receiver that keeps an attempt open delays the case by 15 seconds.
const ENDINGS = [
  ...Array<"end">(80).fill("end"),
  "reset",
  "reset",
  "reset",
  "flood",
  "flood",
  "keep",
  "keep",
  "keep",
  "hold",
] as AnswerPlan["ending"][];
const BUSY_MS = 50;
const SILENCE_MS = 300;

// A hostile receiver of webhooks. Every worker has its own webhook, and a case is one test event.
export const webhooks = (world: BerthWorld) =>
  defineTarget<AnswerPlan>({
    name: "webhook receivers' answers",
    plan: anyAnswer(anyText, { endings: ENDINGS }),
    workers: WORKERS,
    deadlineMs: 60_000,
    async run(plan, { worker, signal }) {
      const receiver = await receiverOf(world, worker);
      return receiver.run(plan, signal);
    },
  });

// The webhooks of one server, for all its runs, because a partner may have 20 webhooks.
const receivers = new WeakMap<Berth, Map<number, Promise<Receiver>>>();

function receiverOf(world: BerthWorld, worker: number): Promise<Receiver> {
  const own = receivers.get(world.berth) ?? new Map<number, Promise<Receiver>>();
  receivers.set(world.berth, own);
  const receiver = own.get(worker) ?? openReceiver(world);
  own.set(worker, receiver);
  return receiver;
}

interface Receiver {
  run(plan: AnswerPlan, signal: AbortSignal): Promise<Finding | undefined>;
}

async function openReceiver({ berth, hooksKey }: BerthWorld): Promise<Receiver> {
  const api = createApi(berth.url, hooksKey);
  let arrived: ((socket: Socket) => void) | undefined;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => (arrived ? arrived(socket) : socket.destroy()));
  });
  // The server under test may already have ended.
  server.unref();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const created = await api.call("POST", "/api/b2b/webhooks", { url: `http://127.0.0.1:${port}/`, types: ["session.failed"] });
  if (created.status !== 201) throw new Error(`the webhook was not created: ${created.status} ${JSON.stringify(created.body)}`);
  const path = `/api/b2b/webhooks/${(created.body as { id: string }).id}`;

  return {
    async run(plan, signal) {
      const { promise, resolve } = Promise.withResolvers<Socket>();
      arrived = resolve;
      for (;;) {
        const { status, body } = await api.call("POST", `${path}/test`);
        if (status === 202) break;
        if (status !== 429)
          return { kind: status >= 500 ? "5xx" : "wrong answer", sentence: `a test event got ${status} ${JSON.stringify(body)}` };
        await sleep(BUSY_MS, undefined, { signal });
      }
      // A webhook whose receiver responds with 410 is disabled until it is enabled again.
      let socket: Socket | void;
      while (!(socket = await Promise.race([promise, sleep(SILENCE_MS)]))) {
        if (signal.aborted) return undefined;
        await api.call("PATCH", path, { enabled: true });
      }
      arrived = undefined;
      await playAnswer(socket, plan);
      // The attempt ends with its connection.
      await closed(socket);
      return undefined;
    },
  };
}
