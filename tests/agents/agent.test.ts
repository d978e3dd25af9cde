import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createBerth, SessionConflictError } from "../../client/index.ts";
import { AGENTS, MODEL_KEY, modelSettings, runsEveryTest, serverSettings, type TestAgent } from "../support/agents/agents.ts";
import { type Berth, startBerth } from "../support/servers/berth.ts";
import { describeWith } from "../support/machine.ts";
import { MODEL_USAGE, type ModelServer, startModelServer } from "../support/agents/model-server.ts";
import { type AgentCalls, conversationOf, createAgentCalls, wordsOf } from "../support/agents/agent-calls.ts";

// More than the turns of this file use. A turn that is stopped counts as an estimate.
const TOKEN_CAP = 100_000;
const MEMORY_SEARCH = readFileSync(join(import.meta.dirname, "memory-search.cjs"), "utf8");

// A real agent in a real sandbox behind the real server, with a scripted model. The preferred agent runs every test; the
// other agents run those in which agents differ, and every test with BERTH_TEST_AGENTS=all.
for (const agent of AGENTS) describeWith(agent.missing, `${agent.name} as the coding agent of a session`, () => testAgent(agent));

function testAgent(agent: TestAgent): void {
  const resources = new AsyncDisposableStack();
  let settings: Record<string, string>;
  let model: ModelServer;
  let berth: Berth;
  // Most tests share one session and depend on their order, because some agents take seconds to start.
  let calls: AgentCalls;
  let sandboxId: string;
  let sessionId: string;

  beforeAll(async () => {
    model = resources.use(await startModelServer());
    settings = await serverSettings(agent, resources);
    berth = resources.use(await startBerth({ ...settings, ...modelSettings(model), BERTH_MODEL_TOKEN_CAP: String(TOKEN_CAP) }));
    const created = await berth.api.create();
    ({ sandboxId, sessionId } = created);
    calls = createAgentCalls(berth, created);
  });
  afterAll(() => resources.disposeAsync());
  beforeEach(() => void (model.script = []));

  test("starts automatically when the session is created", async () => {
    await calls.becomes("ready");
    expect(await calls.runs(agent.name)).toBe(true);
  });

  test("writes a file for a partner's backend, without a browser, through the model relay", async () => {
    model.script = [agent.write("/workspace/hello.txt", "hello\n"), { say: "I wrote it." }];
    const messages = await calls.prompt("Write hello.txt");
    expect(wordsOf(messages)).toBe("I wrote it.");
    expect(messages.at(-1)).toMatchObject({ type: "turn", stopReason: "end_turn" });
    expect(String(await berth.api.readFile(sandboxId, "hello.txt"))).toBe("hello\n");
    const tools = messages.flatMap((message) => (message.type === "item" && message.item.kind === "tool" ? [message.item] : []));
    expect(tools.at(-1)).toMatchObject({ status: "completed", title: agent.writeTitle("hello.txt") });
    const changes = messages.flatMap((message) => (message.type === "item" && message.item.kind === "changes" ? [message.item] : []));
    const hunks = [{ lines: [{ kind: "added", text: "hello" }] }];
    expect(changes.at(-1)?.files).toEqual([{ path: "hello.txt", kind: "added", linesAdded: 1, linesRemoved: 0, hunks }]);
    expect(model.requests.length).toBeGreaterThanOrEqual(2);
    expect(model.requests.every(({ headers }) => headers.authorization === `Bearer ${MODEL_KEY}`)).toBe(true);
    expect(await calls.sandbox("GET", "/changes")).toMatchObject({ changes: [{ path: "hello.txt", kind: "added" }] });
  });

  test("never has the real key: not in an environment, not in a file, not in its memory", async () => {
    expect(await calls.runs(agent.name)).toBe(true);
    expect(await calls.exec("env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'")).toContain("OPENAI_API_KEY=berth-model-");
    // The shell assembles the pattern, so that grep does not find its own command line.
    const [head, tail] = [MODEL_KEY.slice(0, 12), MODEL_KEY.slice(12)];
    const programs = ["node", ...AGENTS.map(({ name }) => name)].map((name) => `--exclude=${name}`).join(" ");
    const found = await calls.exec(
      `k=$(printf %s%s ${head} ${tail}); env | grep -c "$k"; cat /proc/[0-9]*/environ | grep -c "$k"; grep -rls "$k" /home /workspace /tmp /run /etc /opt/berth ${programs} | wc -l`,
    );
    expect(found.trim().split(/\s+/)).toEqual(["0", "0", "0"]);

    await berth.api.writeFile(sandboxId, "search.cjs", MEMORY_SEARCH);
    const search = `/opt/berth/bin/node search.cjs ${agent.name} berth-mod el- ${head} ${tail}`;
    // The search finds the session's own token, which proves that it can read the memory.
    expect(await calls.exec(search)).toMatch(/^searched, found [1-9]\d* 0\n$/);
  });

  test("continues a half-sent answer after pause and resume", async () => {
    const { promise: resumed, resolve: goOn } = Promise.withResolvers<void>();
    model.script = [{ say: "Before the pause, after it", until: resumed }];
    const before = await calls.openPanel();
    before.send({ type: "prompt", requestId: "1", text: "Talk" });
    await expect.poll(() => wordsOf(before.messages)).toBe("Before the pause, after ");
    expect((await calls.pause()).status).toBe(200);
    expect((await calls.resume()).status).toBe(200);
    goOn();
    before.socket.terminate();

    const after = await calls.openPanel();
    const conversationId = before.messages.find((message) => message.type === "created")!.conversation.id;
    const saw = () => {
      after.send({ type: "open", conversationId });
      return after.messages.findLast((message) => message.type === "opened")?.items.map((item) => ("text" in item ? item.text : item.kind));
    };
    await expect.poll(saw).toEqual(["Talk", "Before the pause, after it"]);
    after.socket.terminate();
  });

  test("ends the commands of a turn that is stopped, and takes the next message at once", async () => {
    // While turns of two conversations run, nothing tells which of them started a process that has left its parent.
    await calls.isIdle();
    model.script = [agent.shell("(setsid sleep 4711 > /dev/null 2>&1 &); sleep 4712 | cat; echo done")];
    const panel = await calls.openPanel();
    panel.send({ type: "prompt", requestId: "1", text: "Wait" });
    const sleeps = async () => (await calls.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o '[s]leep 47[0-9]*' | sort -u")).trim();
    await expect.poll(sleeps, { timeout: 30_000 }).toBe("sleep 4711\nsleep 4712");
    const conversationId = panel.messages.find((message) => message.type === "created")!.conversation.id;
    panel.send({ type: "cancel", conversationId });
    panel.send({ type: "prompt", requestId: "2", conversationId, text: "Go on" });
    // The turn of another conversation may end in the meantime.
    const turns = () =>
      panel.messages.flatMap((message) => (message.type === "turn" && message.conversationId === conversationId ? message.stopReason : []));
    await expect.poll(turns, { timeout: 30_000 }).toEqual(["cancelled", "end_turn"]);
    expect(await sleeps()).toBe("");
    panel.socket.terminate();
  });

  test("reports a model that fails with a code, through the relay, and works again afterwards", async () => {
    const failing = (error: { status: number; error: string; code?: string }) => Array.from({ length: 20 }, () => error);
    const endOf = async (script: ModelServer["script"]) => {
      model.script = script;
      const messages = await calls.prompt("Say something");
      expect(JSON.stringify(messages)).not.toContain("127.0.0.1");
      expect(JSON.stringify(messages)).not.toContain(MODEL_KEY.slice(-8));
      return messages.at(-1);
    };
    const refused = await endOf(failing({ status: 401, error: `Incorrect API key provided: ${MODEL_KEY}` }));
    expect(refused).toMatchObject({ type: "turn", stopReason: "error", code: "model_key_refused" });
    const full = await endOf(
      failing({ status: 400, error: "This model's maximum context length is 10 tokens", code: "context_length_exceeded" }),
    );
    expect(full).toMatchObject({ type: "turn", stopReason: "error", code: "model_context_full" });
    expect(await endOf([{ say: "Back again." }])).toMatchObject({ type: "turn", stopReason: "end_turn" });
    expect((await calls.state()).status).toBe("ready");
  });

  if (runsEveryTest(agent)) testThoroughly();

  function testThoroughly(): void {
    test("prompts it through the client, and leaving the loop cancels the turn", async () => {
      const session = await createBerth({ baseUrl: berth.url, apiKey: berth.key }).sessions.get(sessionId);
      model.script = [agent.shell("echo done > result.txt"), { say: "I have written result.txt." }];
      const answer = await session.agent.ask("Write a result.", { permissions: "allow" });
      expect(answer).toMatchObject({ text: expect.stringContaining("I have written result.txt."), stopReason: "end_turn" });
      expect(await session.files.readText("result.txt")).toBe("done\n");

      model.script = [{ sayAndHang: "This takes long" }];
      for await (const message of session.agent.prompt("Go on.", { conversationId: answer.conversationId })) {
        if (message.type !== "append") continue;
        await expect(session.agent.ask("And this?", { conversationId: answer.conversationId })).rejects.toThrow(SessionConflictError);
        break;
      }
      // The next turn may begin.
      await expect.poll(() => session.agent.ask("Still there?").then(({ text }) => text, String)).toBe("Done.");
    });

    test("continues the conversation after pause and resume", async () => {
      const first = await calls.prompt("My name is Ada");
      await calls.pause();
      expect((await calls.resume()).status).toBe(200);
      await calls.prompt("What is my name?", { conversationId: conversationOf(first) });
      const asked = model.requests.findLast(({ body }) => body.tools)?.body.messages;
      expect(JSON.stringify(asked)).toContain("My name is Ada");
      expect((await calls.items(conversationOf(first))).map(({ kind }) => kind)).toEqual(["user", "assistant", "user", "assistant"]);
    });

    test("learns that the session has used its tokens", async () => {
      model.usage = { input: TOKEN_CAP, output: 0 };
      await calls.prompt("Again");
      model.usage = MODEL_USAGE;
      expect(JSON.stringify(await calls.prompt("And again"))).toContain("This session has used all its tokens");
      await calls.destroy();
    });

    test("works under the process driver, where sandboxes share the machine's loopback", async () => {
      // OpenAI's own models are called over the Responses interface.
      await using plain = await startBerth({ ...settings, ...modelSettings(model), BERTH_MODEL_NAME: "gpt-5", BERTH_DRIVER: "process" });
      // The first session takes the usual port of the relay, so the second gets another port.
      const neighbour = createAgentCalls(plain, await plain.api.create({ autoStartAgent: false }));
      const second = createAgentCalls(plain, await plain.api.create());
      model.script = [{ say: "Here too." }];
      expect(wordsOf(await second.prompt("Hello"))).toBe("Here too.");
      expect(model.requests.at(-1)).toMatchObject({ path: "/v1/responses", body: { model: "gpt-5" } });
      await second.destroy();
      await neighbour.destroy();
    });

    test("is unconfigured without a model, and the session works without it; the partner's own key and model start it", async () => {
      await using bare = await startBerth(settings);
      const calm = createAgentCalls(bare, await bare.api.create());
      expect(await calm.state()).toMatchObject({ status: "unconfigured", name: agent.name, missing: agent.missingVariables });
      expect(await calm.exec("echo fine")).toBe("fine\n");
      expect(await calm.runs(agent.name)).toBe(false);
      await calm.destroy();

      // Its own or the provider's variables name the model.
      for (const names of agent.modelVariables) {
        const own = createAgentCalls(bare, await bare.api.create({ envVars: { ...names, OPENAI_API_KEY: "sk-mine" } }));
        await own.becomes("ready");
        expect(await own.runs(agent.name)).toBe(true);
        await own.destroy();
      }
    });
  }
}
