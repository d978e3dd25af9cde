import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { ConversationItem } from "@berth/contract/agent.ts";
import type { Run, RunEvent, RunStatus, StartRun } from "@berth/contract/daemon/runs.ts";
import type { AgentProgram, OutboxEntry, StartResponse } from "@berth/contract/daemon-internal.ts";
import { newId } from "@berth/contract/ids.ts";
import { readScriptedAgent } from "../../tests/support/agents/scripted-agent.ts";
import type { TestDaemon } from "./test-daemon.ts";

// For tests of runs: acts as the server.
export function runsOf(daemon: () => TestDaemon) {
  const post = (path: string, body: object) => daemon().fetch<Run & { code: string }>(path, { method: "POST", body });
  const get = async (id: string) => (await daemon().fetch<Run>(`/internal/runs/${id}`)).json;

  return {
    newRunId: () => newId("run", Date.now()),
    // Starts the scripted agent, which asks in the mode "ask".
    async startAgent(more: Partial<AgentProgram> = {}, env: Record<string, string> = {}): Promise<StartResponse> {
      const script = join(daemon().workspace, "agent.mjs");
      // Not a second time, because an agent that starts at that moment would read an empty file.
      if (!existsSync(script)) writeFileSync(script, await readScriptedAgent());
      const agent = { command: process.execPath, args: ["agent.mjs"], env: {}, requiredEnv: [], askingModes: ["ask"], ...more };
      const body = { agent, env, autoStartAgent: true, sandboxId: "sbx_1" };
      return (await daemon().fetch<StartResponse>("/internal/start", { method: "POST", body })).json;
    },
    post: (id: string, run: StartRun | object) => post("/internal/runs", { id, run }),
    async start(run: StartRun, id = newId("run", Date.now())): Promise<string> {
      const reply = await post("/internal/runs", { id, run });
      expect([reply.status, reply.text]).toEqual([201, reply.text]);
      return id;
    },
    get,
    async becomes(id: string, status: RunStatus): Promise<Run> {
      await expect.poll(async () => (await get(id)).status, { timeout: 60_000 }).toBe(status);
      return await get(id);
    },
    call: async (id: string, call: "messages" | "interrupt" | "answer", body: object = {}) => {
      const reply = await post(`/internal/runs/${id}/${call}`, body);
      return reply.status === 204 ? 204 : `${reply.status} ${reply.json.code}`;
    },
    // The entries of the outbox about a run, in order.
    async news(id: string): Promise<(OutboxEntry & { data: Run })[]> {
      const { json } = await daemon().fetch<{ entries: (OutboxEntry & { data: Run })[] }>("/internal/outbox?waitMs=0");
      return json.entries.filter(({ data }) => data.runId === id);
    },
    async clearNews(): Promise<void> {
      for (;;) {
        const { json } = await daemon().fetch<{ entries: OutboxEntry[] }>("/internal/outbox?waitMs=0");
        if (json.entries.length === 0) return;
        await daemon().fetch("/internal/outbox", { method: "POST", body: { recorded: json.entries.map((entry) => entry.id) } });
      }
    },
  };
}

// A client of the events of a run, which applies them to what it has.
export function createFollower(daemon: TestDaemon, runId: string) {
  const items = new Map<string, ConversationItem>();
  const seen: string[] = [];
  let lastId: string | undefined;
  let ended: Run | null = null;

  return {
    items: () => [...items.values()],
    seen,
    get ended() {
      return ended;
    },
    // Reads until the end, or until `cutAfter` bytes have come, and then disconnects.
    async read(cutAfter = Infinity): Promise<number | undefined> {
      const headers: Record<string, string> = lastId === undefined ? {} : { "last-event-id": lastId };
      const response = await daemon.open(`/internal/runs/${runId}/events`, { headers });
      let text = "";
      let bytes = 0;
      for await (const chunk of response as AsyncIterable<Buffer>) {
        const left = cutAfter - bytes;
        bytes += chunk.length;
        text += chunk.subarray(0, left).toString("latin1");
        const events = text.split("\n\n");
        text = events.pop() ?? "";
        for (const event of events) apply(event);
        if (bytes >= cutAfter) break;
      }
      response.destroy();
      return response.statusCode;
    },
  };

  function apply(text: string): void {
    const data = /^data: (.*)$/m.exec(text)?.[1];
    if (data === undefined) return;
    const id = /^id: (.*)$/m.exec(text)?.[1];
    const event = JSON.parse(Buffer.from(data, "latin1").toString()) as RunEvent;
    if (id !== undefined) lastId = id;
    seen.push(event.type);
    if (event.type === "items") {
      items.clear();
      for (const item of event.items) items.set(item.id, item);
    }
    if (event.type === "item") items.set(event.item.id, event.item);
    if (event.type === "append") {
      const item = items.get(event.itemId);
      if (item?.kind === "assistant" || item?.kind === "thought") item.text += event.text;
    }
    if (event.type === "end") ended = event.run;
  }
}
