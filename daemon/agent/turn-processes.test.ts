import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findProcess } from "../testing/processes.ts";
import { openPanel, type Panel, startSession } from "../testing/agent-panel.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";
import { listProcesses } from "../programs/system/process-table.ts";
import { readScriptedAgent } from "../../tests/support/agents/scripted-agent.ts";

// The agent of these tests runs commands like goose: in its own process group, and a cancel kills only the shell.
describe("a turn that is stopped", () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon();
    writeFileSync(join(daemon.workspace, "agent.mjs"), await readScriptedAgent());
    await startSession(daemon, { agent: { command: process.execPath, args: ["agent.mjs"], env: {}, requiredEnv: [] } });
  });
  afterAll(() => daemon[Symbol.asyncDispose]());

  // A command that writes its pid to a file and runs for long.
  const long = (name: string) => `sh -c 'echo $$ > ${name}.new; mv ${name}.new ${name}; exec sleep 300'`;
  const pidIn = (name: string) => readFileSync(join(daemon.workspace, name), "utf8").trim();
  const runs = (name: string) => listProcesses().some(({ pid }) => pid === Number(pidIn(name)));

  const run = (panel: Panel, command: string) => panel.send({ type: "prompt", requestId: "1", text: `/run ${command}` });

  const appears = (name: string) => expect.poll(() => existsSync(join(daemon.workspace, name)), { timeout: 10_000 }).toBe(true);

  async function conversationOf(panel: Panel): Promise<string> {
    const created = () => panel.messages.findLast((message) => message.type === "created");
    await expect.poll(created).toBeDefined();
    return created()!.conversation.id;
  }

  test.each([
    ["one after the other", (name: string) => `${long(name)}; echo done`],
    ["in a pipe", (name: string) => `${long(name)} | cat`],
    ["in the background", (name: string) => `${long(name)} & wait`],
    ["in a session of its own", (name: string) => `setsid ${long(name)}; true`],
    ["without its parent", (name: string) => `(setsid nohup ${long(name)} > /dev/null 2>&1 &); sleep 300`],
    ["without an environment", (name: string) => `env -i ${long(name)}; true`],
    ["deaf to polite signals", (name: string) => `(trap '' TERM INT HUP; ${long(name)}); true`],
  ])("ends its commands: %s", async (name, command) => {
    const file = `pid-${name.replaceAll(" ", "-")}`;
    const panel = await openPanel(daemon);
    run(panel, command(file));
    await appears(file);
    panel.send({ type: "cancel", conversationId: await conversationOf(panel) });
    expect(await panel.turnEnds()).toMatchObject({ stopReason: "cancelled" });
    expect(runs(file)).toBe(false);
    await panel.close();
  });

  test("keeps the agent, and what earlier turns, other turns and people have started", async () => {
    const panel = await openPanel(daemon);
    const agentPid = () => findProcess({ program: process.execPath, home: daemon.home });
    const before = agentPid();
    run(panel, `(setsid ${long("server")} &); true`);
    expect(await panel.turnEnds()).toMatchObject({ stopReason: "end_turn" });
    await appears("server");
    // This one starts another process later, during the turn that is stopped.
    writeFileSync(join(daemon.workspace, "later.sh"), `while [ ! -e go ]; do sleep 0.05; done; ${long("worker")} & wait`);
    run(panel, "(setsid sh later.sh &); true");
    await panel.turnEnds();
    await daemon.fetch("/exec", { method: "POST", body: { command: `(setsid ${long("person")} > /dev/null 2>&1 &)` } });
    const other = await openPanel(daemon);
    run(other, `${long("other")}; true`);
    await appears("other");

    run(panel, `${long("mine")}; true`);
    await appears("mine");
    writeFileSync(join(daemon.workspace, "go"), "");
    await appears("worker");
    panel.send({ type: "cancel", conversationId: await conversationOf(panel) });
    expect(await panel.turnEnds()).toMatchObject({ stopReason: "cancelled" });
    expect(["server", "worker", "person", "other", "mine"].filter(runs)).toEqual(["server", "worker", "person", "other"]);
    expect(agentPid()).toBe(before);

    const conversationId = await conversationOf(other);
    other.send({ type: "cancel", conversationId });
    await expect.poll(() => other.messages.some((each) => each.type === "turn" && each.conversationId === conversationId)).toBe(true);
    expect(runs("other")).toBe(false);
    for (const name of ["server", "worker", "person"]) process.kill(Number(pidIn(name)));
    await panel.close();
    await other.close();
  });

  test("lets a message that follows at once begin the next turn", async () => {
    const panel = await openPanel(daemon);
    run(panel, `(trap '' TERM; ${long("stubborn")}); true`);
    await appears("stubborn");
    const conversationId = await conversationOf(panel);
    panel.send({ type: "queue", requestId: "2", conversationId, text: "An earlier message" });
    panel.send({ type: "cancel", conversationId });
    panel.send({ type: "queue", requestId: "3", conversationId, text: "Do this instead" });
    expect([(await panel.turnEnds()).stopReason, (await panel.turnEnds()).stopReason]).toEqual(["cancelled", "end_turn"]);
    await panel.sees("assistant", ({ text }) => text.includes("Do this instead"));
    expect(panel.messages.filter(({ type }) => type === "refused")).toEqual([]);
    await panel.close();
  });
});
