import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { modelSettings, preferredAgent as agent } from "../support/agents/agents.ts";
import { type Berth, startBerth } from "../support/servers/berth.ts";
import { describeWith } from "../support/machine.ts";
import { type ModelServer, startModelServer } from "../support/agents/model-server.ts";
import { conversationOf, createAgentCalls } from "../support/agents/agent-calls.ts";

// The agent through the life of a session, with the preferred agent.
describeWith(agent.missing, "the agent of a session", () => {
  const resources = new AsyncDisposableStack();
  let model: ModelServer;
  beforeAll(async () => void (model = resources.use(await startModelServer())));
  afterAll(() => resources.disposeAsync());
  beforeEach(() => void (model.script = []));

  test("remembers the conversation after hibernation and in a fork, and terminals keep their output", async () => {
    await using berth = await startBerth({ ...modelSettings(model), BERTH_HIBERNATE_AFTER: "0" });
    const created = await berth.api.create();
    const calls = createAgentCalls(berth, created);
    const first = await calls.prompt("My name is Ada");
    await calls.sandbox("POST", "/terminals", { cols: 80, rows: 24, command: ["/bin/sh", "-c", "echo before the sleep; cat"] });
    const processes = () => calls.exec("cut -d' ' -f22 /proc/1/stat");
    const before = await processes();

    await calls.pause();
    await expect.poll(() => isHibernated(berth, created.sessionId)).toBe(true);
    expect((await calls.resume()).status).toBe(200);
    expect(await processes()).not.toBe(before);
    const again = await calls.prompt("What is my name?", { conversationId: conversationOf(first) });
    expect(again.at(-1)).toMatchObject({ type: "turn", stopReason: "end_turn" });
    expect(JSON.stringify(model.requests.findLast(({ body }) => body.tools)?.body.messages)).toContain("My name is Ada");
    const { terminals } = (await calls.sandbox("GET", "/terminals")) as { terminals: { offset: number; exit: null }[] };
    expect(terminals).toMatchObject([{ exit: null }]);
    expect(terminals[0]!.offset).toBeGreaterThan("before the sleep".length);

    // A fork of a running session has the turn that has just ended.
    const fork = createAgentCalls(berth, await berth.api.create({ source: { sessionId: created.sessionId } }));
    const inFork = await fork.prompt("And in the fork?", { conversationId: conversationOf(first) });
    expect(inFork.at(-1)).toMatchObject({ type: "turn", stopReason: "end_turn" });
    const asked = JSON.stringify(model.requests.findLast(({ body }) => body.tools)?.body.messages);
    for (const words of ["My name is Ada", "What is my name?", "And in the fork?"]) expect(asked).toContain(words);
  });
});

function isHibernated({ dataDir }: Berth, sessionId: string): boolean {
  using database = new DatabaseSync(join(dataDir, "berth.db"), { readOnly: true });
  const row = database.prepare("select hibernated, state from sessions where id = ?").get(sessionId);
  return row?.hibernated === 1 && row.state === "paused";
}
