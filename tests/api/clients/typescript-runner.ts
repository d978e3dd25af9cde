import * as client from "../../../client/index.ts";
import type { Call, Connection, Outcome, Runner } from "./journey.ts";

type Callable = (...args: unknown[]) => unknown;

// Makes the calls of journeys with the TypeScript client.
export function startTypescriptRunner({ baseUrl, apiKey, ...options }: Connection): Runner {
  const connect = (more: object = {}) => client.createBerth({ baseUrl, apiKey, ...options, ...more });
  const kept: Record<string, unknown> = { berth: connect(), connect, verifyWebhook: client.verifyWebhook };
  return {
    run: (calls) => Promise.all(calls.map(perform)),
    async [Symbol.asyncDispose]() {},
  };

  async function perform(call: Call): Promise<Outcome> {
    try {
      const value = await collect(await invoke(call), call.take);
      if (call.keep) kept[call.keep] = value;
      return { value: plain(value) };
    } catch (error) {
      if (!(error instanceof client.BerthError)) throw error;
      const { name, code, status, retryAfterMs, message } = error;
      return { error: { name, code, status, retryAfterMs, message } };
    }
  }

  function invoke({ call, args = [], options: given }: Call): unknown {
    const path = call.split(".");
    const owner = path.slice(0, -1).reduce((object, part) => object[part] as Record<string, unknown>, kept);
    const method = path.at(-1)!;
    const all = /(?:^|\.)sessions\.(?:create|fork)$/.test(call) ? sessionArguments(method, given!) : [...args, ...(given ? [given] : [])];
    return (owner[method] as Callable)(...all);
  }
}

// The options of the call, and the source of a fork, are arguments of their own.
function sessionArguments(method: string, { idempotencyKey, sessionId, snapshotId, ...request }: Record<string, unknown>): unknown[] {
  const source = { ...(sessionId !== undefined && { sessionId }), ...(snapshotId !== undefined && { snapshotId }) };
  return [...(method === "fork" ? [source] : []), request, { idempotencyKey }];
}

async function collect(value: unknown, take = Infinity): Promise<unknown> {
  const iterable = value instanceof ReadableStream ? value : (value as Partial<AsyncIterable<unknown>> | null);
  if (typeof iterable !== "object" || !iterable?.[Symbol.asyncIterator]) return value;
  const items: unknown[] = [];
  for await (const item of iterable as AsyncIterable<unknown>) if (items.push(item) >= take) break;
  return items;
}

// Bytes as the text that they are in Latin-1, and only the data of sessions.
const plain = (value: unknown): unknown =>
  value === undefined
    ? null
    : (JSON.parse(
        JSON.stringify(value, (_key, part: unknown) => (part instanceof Uint8Array ? Buffer.from(part).toString("latin1") : part)),
      ) as unknown);
