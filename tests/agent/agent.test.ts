import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { AgentCommand, AgentMessage, ConversationItem } from "@berth/contract/agent.ts";
import type { Session } from "@berth/contract";
import type { AgentState } from "@berth/contract/daemon.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type Berth, startBerth } from "../support/berth.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";

const GOOSE = join(import.meta.dirname, "../../node_modules/@aaif/goose-binary-linux-x64/bin/goose");
const KEY = "sk-of-the-operator-0123456789abcdef";
const TOKEN_CAP = 5000;

// The real agent in a real sandbox behind the real server, with a model that says what the test wants.
describe.skipIf(!existsSync(GOOSE))("the coding agent of a session", () => {
  let berth: Berth;
  let model: ModelServer;

  beforeAll(async () => {
    model = await startModelServer();
    berth = await startBerth(modelSettings());
  });
  afterAll(async () => {
    await berth?.[Symbol.asyncDispose]();
    await model?.[Symbol.asyncDispose]();
  });
  beforeEach(() => void (model.script = []));

  const modelSettings = () => ({
    BERTH_MODEL_PROVIDER: "openai",
    BERTH_MODEL_BASE_URL: `${model.url}/v1`,
    BERTH_MODEL_API_KEY: KEY,
    BERTH_MODEL_NAME: "scripted",
    BERTH_MODEL_TOKEN_CAP: String(TOKEN_CAP),
  });
  const sandbox = async (session: Session, method: string, path: string, body?: object) =>
    (await berth.api.call(method, `/sandboxes/${session.sandboxId}${path}`, body)).body as unknown;
  const state = async (session: Session) => (await sandbox(session, "GET", "/agent")) as AgentState;
  const becomes = async (session: Session, status: AgentState["status"]) =>
    await expect.poll(async () => (await state(session)).status).toBe(status);
  const exec = async (session: Session, command: string) => (await berth.api.exec(session.sandboxId, command)).stdout;
  const runs = async (session: Session) => (await exec(session, "cat /proc/[0-9]*/comm")).split("\n").includes("goose");
  const session = (action: string, { sessionId }: Session, body?: object) =>
    berth.api.call("POST", `/api/b2b/sessions/${sessionId}/${action}`, body);
  const destroy = (created: Session) => berth.api.call("DELETE", `/api/b2b/sessions/${created.sessionId}`);

  async function prompt(created: Session, text: string, more: object = {}): Promise<AgentMessage[]> {
    const answer = (await sandbox(created, "POST", "/agent/prompt", { text, permissions: "allow", ...more })) as string;
    return answer
      .split("\n\n")
      .filter((part) => part.startsWith("data: "))
      .map((part) => JSON.parse(part.slice(6)) as AgentMessage);
  }
  const idOf = (messages: AgentMessage[]) => (messages[0]?.type === "conversation" ? messages[0].conversation.id : "");
  const wordsOf = (messages: AgentMessage[]) =>
    messages
      .map((message) =>
        message.type === "append" ? message.text : message.type === "item" && message.item.kind === "assistant" ? message.item.text : "",
      )
      .join("");

  test("writes a file for a partner's backend, without a browser, through the model relay", async () => {
    const created = await berth.api.create();
    model.script = [{ tool: "write", input: { path: "/workspace/hello.txt", content: "hello\n" } }, { say: "I wrote it." }];
    const messages = await prompt(created, "Write hello.txt");
    expect(wordsOf(messages)).toBe("I wrote it.");
    expect(messages.at(-1)).toMatchObject({ type: "turn", stopReason: "end_turn" });
    expect(String(await berth.api.readFile(created.sandboxId, "hello.txt"))).toBe("hello\n");
    const tools = messages.flatMap((message) => (message.type === "item" && message.item.kind === "tool" ? [message.item] : []));
    expect(tools.at(-1)).toMatchObject({
      status: "completed",
      content: [{ type: "diff", path: "hello.txt", oldText: null, newText: "hello\n" }],
    });
    expect(model.requests.every(({ headers }) => headers.authorization === `Bearer ${KEY}`)).toBe(true);
    expect((await sandbox(created, "GET", "/changes")) as object).toMatchObject({ changes: [{ path: "hello.txt", kind: "added" }] });
    await destroy(created);
  });

  test("never has the real key: not in an environment, not in a file, not in its memory", async () => {
    const created = await berth.api.create();
    await prompt(created, "Hello");
    expect(await runs(created)).toBe(true);
    expect(await exec(created, "env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'")).toContain("OPENAI_API_KEY=berth-model-");
    // The pattern is put together there, so that the search does not find itself.
    const [head, tail] = [KEY.slice(0, 12), KEY.slice(12)];
    const search = `k=${head}''${tail}; k="\${k}"; env | grep -c "$k"; cat /proc/[0-9]*/environ | grep -c "$k"; grep -rls "$k" /home /workspace /tmp /run /etc /opt/berth --exclude=goose --exclude=node | wc -l`;
    const found = await exec(created, search.replace(`k=${head}''${tail}; k="\${k}"`, `k=$(printf %s%s ${head} ${tail})`));
    expect(found.trim().split(/\s+/)).toEqual(["0", "0", "0"]);
    expect(await memoryHolds(created, head, tail)).toBe("searched, found 0");
    await destroy(created);
  });

  // What the sandbox's own user can read of the agent's and the daemon's memory.
  async function memoryHolds(created: Session, head: string, tail: string): Promise<string> {
    const script = `
      const fs = require("fs"), key = Buffer.from(${JSON.stringify(head)} + String.fromCharCode(${tail.charCodeAt(0)}) + ${JSON.stringify(tail.slice(1))});
      let found = 0, searched = 0;
      for (const pid of fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name) && name !== String(process.pid))) {
        try {
          if (!fs.readFileSync("/proc/" + pid + "/comm", "utf8").startsWith("goose")) continue;
          const mem = fs.openSync("/proc/" + pid + "/mem", "r");
          for (const line of fs.readFileSync("/proc/" + pid + "/maps", "utf8").split("\\n")) {
            const match = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
            if (!match) continue;
            const [from, to] = [parseInt(match[1], 16), parseInt(match[2], 16)];
            if (to - from > 256e6) continue;
            const bytes = Buffer.alloc(to - from);
            try { fs.readSync(mem, bytes, 0, bytes.length, from); searched++; } catch { continue; }
            if (bytes.includes(key)) found++;
          }
        } catch {}
      }
      console.log(searched > 0 ? "searched, found " + found : "nothing to search");`;
    await berth.api.writeFile(created.sandboxId, "search.cjs", script);
    return (await exec(created, "/opt/berth/bin/node search.cjs")).trim();
  }

  test("starts by itself at create and at resume only when asked to", async () => {
    const quiet = await berth.api.create({ autoStartAgent: false });
    expect([(await state(quiet)).status, await runs(quiet)]).toEqual(["stopped", false]);
    await session("pause", quiet);
    await session("resume", quiet, { autoStartAgent: false });
    expect([(await state(quiet)).status, await runs(quiet)]).toEqual(["stopped", false]);
    await session("pause", quiet);
    await session("resume", quiet);
    await becomes(quiet, "ready");
    expect(await runs(quiet)).toBe(true);
    await destroy(quiet);

    const eager = await berth.api.create();
    await becomes(eager, "ready");
    expect(await runs(eager)).toBe(true);
    await destroy(eager);
  });

  test("goes on with the conversation after pause and resume", async () => {
    const created = await berth.api.create();
    const first = await prompt(created, "My name is Ada");
    await session("pause", created);
    expect((await session("resume", created)).status).toBe(200);
    await prompt(created, "What is my name?", { conversationId: idOf(first) });
    const asked = model.requests.findLast(({ body }) => body.tools)?.body.messages;
    expect(JSON.stringify(asked)).toContain("My name is Ada");
    const { items } = (await sandbox(created, "GET", `/agent/conversations/${idOf(first)}`)) as { items: ConversationItem[] };
    expect(items.map(({ kind }) => kind)).toEqual(["user", "assistant", "user", "assistant"]);
    await destroy(created);
  });

  test("goes on in the middle of a sentence after pause and resume", async () => {
    const created = await berth.api.create();
    const { promise: resumed, resolve: goOn } = Promise.withResolvers<void>();
    model.script = [{ say: "Before the pause, after it", until: resumed }];
    const before = await openPanel(created);
    before.send({ type: "prompt", requestId: "1", text: "Talk" });
    await expect.poll(() => wordsOf(before.messages)).toBe("Before the pause, after ");
    expect((await session("pause", created)).status).toBe(200);
    expect((await session("resume", created)).status).toBe(200);
    goOn();
    before.socket.terminate();

    const after = await openPanel(created);
    const conversationId = before.messages.find((message) => message.type === "created")!.conversation.id;
    const saw = () => {
      after.send({ type: "open", conversationId });
      return after.messages.findLast((message) => message.type === "opened")?.items.map((item) => ("text" in item ? item.text : item.kind));
    };
    await expect.poll(saw).toEqual(["Talk", "Before the pause, after it"]);
    after.socket.terminate();
    await destroy(created);
  });

  test("remembers after hibernation, when every process has been stopped, and so do the terminals", async () => {
    await using sleepy = await startBerth({ ...modelSettings(), BERTH_HIBERNATE_AFTER: "0" });
    const created = await sleepy.api.create();
    const at = `/sandboxes/${created.sandboxId}`;
    const ask = async (body: object) => String((await sleepy.api.call("POST", `${at}/agent/prompt`, body)).body);
    const first = JSON.parse((await ask({ text: "My name is Ada" })).slice("data: ".length).split("\n")[0]!) as AgentMessage;
    await sleepy.api.call("POST", `${at}/terminals`, { cols: 80, rows: 24, command: ["/bin/sh", "-c", "echo before the sleep; cat"] });
    const processes = async () => (await sleepy.api.exec(created.sandboxId, "cut -d' ' -f22 /proc/1/stat")).stdout;
    const before = await processes();

    await sleepy.api.call("POST", `/api/b2b/sessions/${created.sessionId}/pause`);
    await expect.poll(() => isHibernated(sleepy, created)).toBe(true);
    expect((await sleepy.api.call("POST", `/api/b2b/sessions/${created.sessionId}/resume`)).status).toBe(200);
    expect(await processes()).not.toBe(before);
    const conversationId = first.type === "conversation" ? first.conversation.id : "";
    expect(await ask({ text: "What is my name?", conversationId })).toContain('"stopReason":"end_turn"');
    expect(JSON.stringify(model.requests.findLast(({ body }) => body.tools)?.body.messages)).toContain("My name is Ada");
    const { terminals } = (await sleepy.api.call("GET", `${at}/terminals`)).body as { terminals: { offset: number; exit: null }[] };
    expect(terminals).toMatchObject([{ exit: null }]);
    expect(terminals[0]!.offset).toBeGreaterThan("before the sleep".length);
  });

  function isHibernated({ dataDir }: Berth, { sessionId }: Session): boolean {
    using database = new DatabaseSync(join(dataDir, "berth.db"), { readOnly: true });
    const row = database.prepare("select hibernated, state from sessions where id = ?").get(sessionId);
    return row?.hibernated === 1 && row.state === "paused";
  }

  // A browser's end of the agent's stream, with the partner's key.
  async function openPanel({ sandboxUrl }: Session) {
    const socket = new WebSocket(`${sandboxUrl.replace("http", "ws")}/agent/stream`, { headers: { authorization: `Bearer ${berth.key}` } });
    const messages: AgentMessage[] = [];
    socket.on("message", (data: Buffer) => messages.push(JSON.parse(data.toString()) as AgentMessage));
    socket.on("error", () => {});
    await once(socket, "message");
    return { socket, messages, send: (command: AgentCommand) => socket.send(JSON.stringify(command)) };
  }

  test("is told when the session has used its tokens", async () => {
    const created = await berth.api.create();
    await prompt(created, "Hello");
    let said = "";
    for (let round = 0; round < TOKEN_CAP / 100 && !said.includes("has used its"); round++) {
      const messages = await prompt(created, "Again");
      said = JSON.stringify(messages);
    }
    expect(said).toContain(`This session has used its ${TOKEN_CAP} tokens`);
    await destroy(created);
  });

  test("speaks with a model of Anthropic's interface as well", async () => {
    const settings = { ...modelSettings(), BERTH_MODEL_PROVIDER: "anthropic", BERTH_MODEL_BASE_URL: model.url };
    await using other = await startBerth(settings);
    const created = await other.api.create();
    model.script = [{ tool: "write", input: { path: "/workspace/hello.txt", content: "bonjour\n" } }, { say: "Voilà." }];
    const answer = await other.api.call("POST", `/sandboxes/${created.sandboxId}/agent/prompt`, { text: "Write", permissions: "allow" });
    expect(String(answer.body)).toContain('"text":"Voilà."');
    expect(String(await other.api.readFile(created.sandboxId, "hello.txt"))).toBe("bonjour\n");
    expect(model.requests.at(-1)).toMatchObject({ path: "/v1/messages", headers: { "x-api-key": KEY }, body: { model: "scripted" } });
  });

  test("works under the process driver too, where sandboxes share the machine's loopback", async () => {
    await using plain = await startBerth({ ...modelSettings(), BERTH_DRIVER: "process" });
    for (const created of [await plain.api.create(), await plain.api.create()]) {
      model.script = [{ say: "Here too." }];
      const answer = await plain.api.call("POST", `/sandboxes/${created.sandboxId}/agent/prompt`, { text: "Hello" });
      expect(String(answer.body)).toContain('"text":"too."');
      await plain.api.call("DELETE", `/api/b2b/sessions/${created.sessionId}`);
    }
  });

  test("is unconfigured without a model, and the session is unharmed", async () => {
    await using bare = await startBerth();
    const created = await bare.api.create();
    const answer = await bare.api.call("GET", `/sandboxes/${created.sandboxId}/agent`);
    expect(answer.body).toMatchObject({ status: "unconfigured", missing: ["GOOSE_PROVIDER", "GOOSE_MODEL"] });
    expect((await bare.api.exec(created.sandboxId, "echo fine; cat /proc/[0-9]*/comm")).stdout).toMatch(/^fine\n(?!.*goose)/s);
    // Keys that a partner passes still work for those who prefer it.
    const own = await bare.api.create({ envVars: { GOOSE_PROVIDER: "openai", GOOSE_MODEL: "m", OPENAI_API_KEY: "sk-mine" } });
    await expect
      .poll(async () => (await bare.api.call("GET", `/sandboxes/${own.sandboxId}/agent`)).body as AgentState)
      .toMatchObject({ status: "ready" });
  });
});
