import { afterEach, beforeEach, expect } from "vitest";
import type { Clock } from "../../clock.ts";
import { startTestApp, type TestApp } from "../../http/testing/test-app.ts";
import { appendEvent } from "../../store/events.ts";

export interface ListedDelivery {
  id: string;
  eventId: string;
  state: string;
  attempts: number;
  lastStatus: number | null;
  lastError: string | null;
  type: string;
}

// Sets up an app with webhooks for each test of a file.
export function useTestWebhooks() {
  const startMs = Date.now();
  const current = { nowMs: startMs } as { app: TestApp; nowMs: number };
  // Does not advance by itself: a lease must not expire while a real receiver answers in real time.
  const clock: Clock = { now: () => current.nowMs, every: () => ({ async [Symbol.asyncDispose]() {} }) };

  beforeEach(async () => {
    current.nowMs = startMs;
    current.app = await startTestApp({ clock });
  });
  afterEach(() => current.app[Symbol.asyncDispose]());

  async function createHook(url: string, more: object = {}): Promise<{ id: string; secret: string }> {
    const { status, json } = await current.app.call("POST", "/api/b2b/webhooks", { body: { url, ...more } });
    expect(status).toBe(201);
    return json;
  }

  async function addEvent(sessionId: string, n: number, type: "session.created" | "session.paused" = "session.created"): Promise<void> {
    const event = { partnerId: "acme", sessionId, type, at: clock.now(), data: { sessionId, n } };
    await current.app.store.transaction((tx) => appendEvent(tx, event));
  }

  async function deliver(): Promise<void> {
    await current.app.webhooks.tick();
    await current.app.webhooks.settled();
  }

  async function deliverAfter(ms: number): Promise<void> {
    current.nowMs += ms;
    await deliver();
  }

  async function deliveries(id: string, query = ""): Promise<{ data: ListedDelivery[]; nextCursor: string | null }> {
    const { json } = await current.app.call("GET", `/api/b2b/webhooks/${id}/deliveries${query}`);
    return json;
  }

  return { current, clock, createHook, addEvent, deliver, deliverAfter, deliveries };
}
