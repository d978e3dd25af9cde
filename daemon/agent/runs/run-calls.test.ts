import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunStatus } from "@berth/contract/daemon/runs.ts";
import { runsOf } from "../../testing/runs.ts";
import { startTestDaemon, type TestDaemon } from "../../testing/test-daemon.ts";

let daemon: TestDaemon;
const { start, post, get, becomes, call, startAgent } = runsOf(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon();
  await startAgent();
});
afterAll(() => daemon?.[Symbol.asyncDispose]());

// Each row is a status of a run, each column a call: what the call answers, and what the run is afterwards.
describe("each call in each status of a run", () => {
  const reach = {
    queued: async () => {
      const first = await start({ prompt: "/run sleep 600", permissions: "allow" });
      return await start({ prompt: "Queued", conversationId: (await get(first)).conversationId! });
    },
    running: async () => {
      const id = await start({ prompt: "/run sleep 600", permissions: "allow" });
      await becomes(id, "running");
      return id;
    },
    needs_input: async () => {
      const id = await start({ prompt: "/ask x" });
      await becomes(id, "needs_input");
      return id;
    },
    succeeded: async () => {
      const id = await start({ prompt: "Hi" });
      await becomes(id, "succeeded");
      return id;
    },
    failed: async () => {
      const id = await start({ prompt: "Hi", mode: "nowhere", permissions: "allow" });
      await becomes(id, "failed");
      return id;
    },
    interrupted: async () => {
      const id = await start({ prompt: "/ask x" });
      await call(id, "interrupt");
      await becomes(id, "interrupted");
      return id;
    },
    lost: async () => {
      const id = await start({ prompt: "/ask x" });
      await becomes(id, "needs_input");
      await daemon.fetch("/internal/stop", { method: "POST" });
      await startAgent();
      return id;
    },
  } satisfies Record<RunStatus, () => Promise<string>>;
  type Outcome = [reply: number | string, status: RunStatus];
  const control = async (path: string, method = "POST") => (await daemon.fetch(path, { method })).status;
  const calls = {
    message: (id: string) => call(id, "messages", { id: "m", prompt: "More" }),
    answer: async (id: string) => call(id, "answer", { itemId: (await get(id)).waitsFor[0]?.itemId ?? "item_0", optionId: "allow_once" }),
    interrupt: (id: string) => call(id, "interrupt"),
    start: async (id: string) => (await post(id, { prompt: "Again" })).status,
    delete: async (id: string) => control(`/agent/conversations/${(await get(id)).conversationId}`, "DELETE"),
    agentStop: () => control("/agent/stop"),
    pause: async () => {
      await control("/internal/pause");
      return (await startAgent()).status;
    },
    stop: async () => {
      const status = await control("/internal/stop");
      await startAgent();
      return status;
    },
  };
  const ended = (status: RunStatus): Record<keyof typeof calls, Outcome> => ({
    message: ["409 run_ended", status],
    answer: ["409 agent_answered", status],
    interrupt: [204, status],
    start: [200, status],
    delete: [204, status],
    agentStop: [200, status],
    pause: ["ok", status],
    stop: [200, status],
  });
  const matrix: Record<RunStatus, Record<keyof typeof calls, Outcome>> = {
    queued: {
      message: [204, "queued"],
      answer: ["409 agent_answered", "queued"],
      interrupt: [204, "interrupted"],
      start: [200, "queued"],
      // The work before it is over, and its conversation is gone.
      delete: [204, "failed"],
      // The work before it is over.
      agentStop: [200, "succeeded"],
      pause: ["ok", "queued"],
      stop: [200, "succeeded"],
    },
    running: {
      message: [204, "running"],
      answer: ["409 agent_answered", "running"],
      interrupt: [204, "interrupted"],
      start: [200, "running"],
      delete: [204, "interrupted"],
      agentStop: [200, "failed"],
      pause: ["ok", "running"],
      stop: [200, "lost"],
    },
    needs_input: {
      message: [204, "needs_input"],
      answer: [204, "succeeded"],
      interrupt: [204, "interrupted"],
      start: [200, "needs_input"],
      delete: [204, "interrupted"],
      agentStop: [200, "failed"],
      pause: ["ok", "needs_input"],
      stop: [200, "lost"],
    },
    succeeded: ended("succeeded"),
    failed: ended("failed"),
    interrupted: ended("interrupted"),
    lost: ended("lost"),
  };

  test.each(Object.keys(matrix) as RunStatus[])("%s", { timeout: 60_000 }, async (status) => {
    for (const name of Object.keys(calls) as (keyof typeof calls)[]) {
      const id = await reach[status]();
      const [reply, after] = matrix[status][name];
      expect([name, await calls[name](id)]).toEqual([name, reply]);
      await expect.poll(async () => [name, (await get(id)).status], { timeout: 10_000 }).toEqual([name, after]);
      // Nothing is left for the next one.
      await startAgent();
      const { conversations } = (await daemon.fetch("/agent/conversations")).json;
      for (const each of conversations) await daemon.fetch(`/agent/conversations/${each.id}`, { method: "DELETE" });
      await becomesFree();
    }
  });

  async function becomesFree(): Promise<void> {
    await expect.poll(async () => (await daemon.fetch<{ open: number }>("/internal/outbox?waitMs=0")).json.open).toBe(0);
  }
});
