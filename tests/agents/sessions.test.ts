import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { AGENTS, MODEL_KEY, modelSettings, runsEveryTest, serverSettings, type TestAgent } from "../support/agents/agents.ts";
import { type Berth, startBerth } from "../support/servers/berth.ts";
import { isHibernated } from "../support/servers/is-hibernated.ts";
import { describeWith } from "../support/machine.ts";
import { type ModelServer, startModelServer } from "../support/agents/model-server.ts";
import { type AgentCalls, conversationOf, createAgentCalls, wordsOf } from "../support/agents/agent-calls.ts";

// The agent through the life of one session, because some agents take seconds to start. The model has Anthropic's interface.
for (const agent of AGENTS.filter(runsEveryTest)) describeWith(agent.missing, `${agent.name} of a session`, () => testAgent(agent));

function testAgent(agent: TestAgent): void {
  const resources = new AsyncDisposableStack();
  let model: ModelServer;
  let berth: Berth;
  let sandboxId: string;
  let sessionId: string;
  let calls: AgentCalls;

  beforeAll(async () => {
    model = resources.use(await startModelServer());
    const settings = { ...(await serverSettings(agent, resources)), ...modelSettings(model) };
    const anthropic = { BERTH_MODEL_PROVIDER: "anthropic", BERTH_MODEL_BASE_URL: model.url };
    berth = resources.use(await startBerth({ ...settings, ...anthropic, BERTH_HIBERNATE_AFTER: "0" }));
    const created = await berth.api.create({ autoStartAgent: false });
    ({ sandboxId, sessionId } = created);
    calls = createAgentCalls(berth, created);
  });
  afterAll(() => resources.disposeAsync());
  beforeEach(() => void (model.script = []));

  const hibernate = async () => {
    await calls.pause();
    await expect.poll(() => isHibernated(berth, sessionId)).toBe(true);
  };
  const asked = () => JSON.stringify(model.requests.findLast(({ body }) => body.tools)?.body.messages);

  test("starts automatically at create and resume only if autoStartAgent is set", async () => {
    expect([(await calls.state()).status, await calls.runs(agent.name)]).toEqual(["stopped", false]);
    await calls.pause();
    await calls.resume({ autoStartAgent: false });
    expect([(await calls.state()).status, await calls.runs(agent.name)]).toEqual(["stopped", false]);
    await calls.pause();
    await calls.resume();
    await calls.becomes("ready");
    expect(await calls.runs(agent.name)).toBe(true);
  });

  test("talks to a model over Anthropic's interface", async () => {
    model.script = [agent.write("/workspace/hello.txt", "bonjour\n"), { say: "Voilà." }];
    expect(wordsOf(await calls.prompt("Write"))).toBe("Voilà.");
    expect(String(await berth.api.readFile(sandboxId, "hello.txt"))).toBe("bonjour\n");
    model.script = [{ status: 403, error: `No access with ${MODEL_KEY}` }];
    const refused = (await calls.prompt("Again")).at(-1);
    expect(refused).toMatchObject({ stopReason: "error", code: "model_key_refused" });
    expect(model.requests.at(-1)).toMatchObject({
      path: "/v1/messages",
      headers: { "x-api-key": MODEL_KEY },
      body: { model: "scripted" },
    });
  });

  test("remembers the conversation after hibernation and in a fork, and terminals keep their output", async () => {
    const first = await calls.prompt("My name is Ada");
    await calls.sandbox("POST", "/terminals", { cols: 80, rows: 24, command: ["/bin/sh", "-c", "echo before the sleep; cat"] });
    const processes = () => calls.exec("cut -d' ' -f22 /proc/1/stat");
    const before = await processes();

    await hibernate();
    expect((await calls.resume()).status).toBe(200);
    expect(await processes()).not.toBe(before);
    const again = await calls.prompt("What is my name?", { conversationId: conversationOf(first) });
    expect(again.at(-1)).toMatchObject({ type: "turn", stopReason: "end_turn" });
    expect(asked()).toContain("My name is Ada");
    const { terminals } = (await calls.sandbox("GET", "/terminals")) as { terminals: { offset: number; exit: null }[] };
    expect(terminals).toMatchObject([{ exit: null }]);
    expect(terminals[0]!.offset).toBeGreaterThan("before the sleep".length);

    // A fork of a running session has the turn that has just ended.
    const fork = createAgentCalls(berth, await berth.api.create({ source: { sessionId } }));
    const inFork = await fork.prompt("And in the fork?", { conversationId: conversationOf(first) });
    expect(inFork.at(-1)).toMatchObject({ type: "turn", stopReason: "end_turn" });
    for (const words of ["My name is Ada", "What is my name?", "And in the fork?"]) expect(asked()).toContain(words);
  });
}
