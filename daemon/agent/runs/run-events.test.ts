import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ConversationItem } from "@berth/contract/agent.ts";
import { daemonForRuns } from "../../testing/daemon-for-runs.ts";
import { createFollower } from "../../testing/runs.ts";

const running = daemonForRuns();
const { start, post, get, becomes, call, newRunId, startAgent, types, clearNews } = running;

// The changes of a turn are shown while it goes on, and kept when it ends: a client that has seen them has them earlier in its order.
const changesLast = (items: ConversationItem[]) =>
  [true, false].flatMap((last) => items.filter(({ kind }) => (kind !== "changes") === last));

describe("the events of a run", () => {
  test("continue after any cut without loss or repetition", async () => {
    for (let round = 0; round < 3; round++) {
      running.model.script = [];
      writeFileSync(join(running.daemon.workspace, "cut.txt"), "a\nb\n");
      const id = await start({ prompt: "/edit cut.txt", permissions: "allow" });
      for (const prompt of ["/plan it", "/ask x", "Grüße 🦀", "/edit cut.txt", "Last"]) await call(id, "messages", { id: prompt, prompt });
      const [steady, cut] = [createFollower(running.daemon, id), createFollower(running.daemon, id)];
      const followed = steady.read();
      let cuts = 0;
      // All items together may be longer than the first pieces.
      for (; cut.ended === null && cuts < 2000; cuts++) await cut.read(1 + Math.floor(Math.random() * (1500 + 100 * cuts)));
      await followed;
      expect(cuts).toBeGreaterThan(5);
      const { items } = (await running.daemon.fetch<{ items: ConversationItem[] }>(`/agent/conversations/${steady.ended?.conversationId}`))
        .json;
      expect(changesLast(steady.items())).toEqual(changesLast(items));
      expect(changesLast(cut.items())).toEqual(changesLast(items));
      // It has all items from the start once, and then each change.
      expect(steady.seen.filter((type) => type === "items")).toHaveLength(1);
      expect([steady.seen.at(-1), cut.ended?.status]).toEqual(["end", "succeeded"]);
      expect(await cut.read()).toBe(204);
    }
  });

  test("begin again with all items if the daemon has restarted", async () => {
    const id = await start({ prompt: "Remember" });
    await becomes(id, "succeeded");
    const follower = createFollower(running.daemon, id);
    await follower.read(40);
    await running.daemon.stop("SIGKILL");
    await running.daemon.restart();
    await startAgent();
    await follower.read();
    expect(follower.seen).toEqual(["items", "end"]);
    expect(follower.items().map(({ kind }) => kind)).toEqual(["user", "assistant"]);
    expect(await follower.read()).toBe(204);
  });
});

describe("a run and the end of the sandbox", () => {
  test("is lost if it had begun, begins if it had not, and says so once", async () => {
    for (const end of ["kill", "stop"]) {
      await clearNews();
      const begun = await start({ prompt: `/run touch begun-${end}; sleep 600`, permissions: "allow" });
      await expect.poll(() => existsSync(join(running.daemon.workspace, `begun-${end}`))).toBe(true);
      const { conversationId } = await get(begun);
      const queued = await start({ prompt: "Later", conversationId: conversationId! });
      await call(queued, "messages", { id: "m", prompt: "Even later" });
      if (end === "stop") await running.daemon.fetch("/internal/stop", { method: "POST" });
      await running.daemon.stop(end === "kill" ? "SIGKILL" : "SIGTERM");
      await running.daemon.restart();
      expect((await startAgent()).hasNews).toBe(true);
      expect(await get(begun)).toMatchObject({ status: "lost", conversationId });
      expect(await types(begun)).toEqual(["run.started running", "run.finished lost"]);
      expect(await call(begun, "interrupt")).toBe(204);
      expect(await call(begun, "messages", { id: "x", prompt: "x" })).toBe("409 run_ended");
      expect((await becomes(queued, "succeeded")).text).toContain("Even later");
      await running.daemon.stop("SIGKILL");
      await running.daemon.restart();
      await startAgent();
      expect(await types(begun)).toEqual(["run.started running", "run.finished lost"]);
      expect((await post(begun, { prompt: "Again" })).status).toBe(200);
    }
  });

  test("goes on over a pause, in which no run is accepted", async () => {
    const id = await start({ prompt: "/ask x" });
    const { waitsFor } = await becomes(id, "needs_input");
    await running.daemon.fetch("/internal/pause", { method: "POST" });
    expect((await post(newRunId(), { prompt: "Hi" })).json.code).toBe("session_paused");
    await startAgent();
    await call(id, "answer", { itemId: waitsFor[0]!.itemId, optionId: "allow_once" });
    await becomes(id, "succeeded");
  });
});
