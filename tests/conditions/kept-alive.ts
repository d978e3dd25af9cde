import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Berth } from "../support/servers/berth.ts";

export interface StopCount {
  // Counts the responses of each status.
  answers: Record<number, number>;
  // Requests that got none, by the code of their error. A refused connection is not one: the server is gone, and nothing was sent.
  failures: Record<string, number>;
}

const CLIENTS = 16;
const MAX_PAUSE_MS = 30;
const ANSWERS_BEFORE = 2;

// Clients that send one request after the other on a connection of their own, to the API and through the gateway. When all have had
// answers, the server is stopped, and they go on until it refuses a new connection.
export async function stopUnderClients(berth: Pick<Berth, "url" | "key" | "stop">): Promise<StopCount> {
  const count: StopCount = { answers: {}, failures: {} };
  const started = Promise.withResolvers<void>();
  let starting = CLIENTS;
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    const path = index % 4 === 0 ? "/api/b2b/sessions?limit=1" : "/sandboxes/sbx_00000000000000000000000000/files";
    using agent = disposable(new Agent({ keepAlive: true, maxSockets: 1 }));
    for (let answers = 0; ; answers++) {
      if (answers === ANSWERS_BEFORE && --starting === 0) started.resolve();
      try {
        const status = await send(`${berth.url}${path}`, berth.key, agent.value);
        count.answers[status] = (count.answers[status] ?? 0) + 1;
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code ?? String(error);
        if (code === "ECONNREFUSED") return;
        count.failures[code] = (count.failures[code] ?? 0) + 1;
      }
      await delay(Math.random() * MAX_PAUSE_MS);
    }
  });
  await started.promise;
  await berth.stop();
  await Promise.all(clients);
  return count;
}

const disposable = (value: Agent) => ({ value, [Symbol.dispose]: () => value.destroy() });

function send(url: string, key: string, agent: Agent): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request(url.replace("localhost", "127.0.0.1"), { agent, headers: { authorization: `Bearer ${key}` } }, (response) =>
    response
      .resume()
      .on("end", () => resolve(response.statusCode!))
      .on("error", reject),
  );
  sent.on("error", reject).end();
  return promise;
}
