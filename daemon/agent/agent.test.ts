import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentCommand } from "@berth/contract/agent.ts";
import type { StartRequest } from "@berth/contract/daemon.ts";
import { startTestDaemon, type TestDaemon } from "../testing.ts";
import { agentBecomes, agentState, openPanel, tellToStart } from "./testing.ts";

let daemon: TestDaemon;
beforeEach(async () => void (daemon = await startTestDaemon({ BERTH_AGENT_TIMEOUT_MS: "4000" })));
afterEach(() => daemon[Symbol.asyncDispose]());

const agentOf = (...command: string[]): NonNullable<StartRequest["agent"]> => ({
  command: command[0] ?? "",
  args: command.slice(1),
  env: {},
  requiredEnv: [],
});

describe("the agent", () => {
  test("is none where the template has none, and a prompt says so", async () => {
    await tellToStart(daemon, {});
    expect(await agentState(daemon)).toEqual({ status: "none", name: null });
    expect((await daemon.fetch("/agent/prompt", { method: "POST", body: { text: "hi" } })).json.code).toBe("agent_none");
  });

  test("is unconfigured, naming what to set, and is not started", async () => {
    await tellToStart(daemon, {
      agent: { ...agentOf("/bin/sh", "-c", "touch started"), requiredEnv: ["MODEL_KEY", "OTHER"] },
      env: { OTHER: "x" },
    });
    expect(await agentState(daemon)).toMatchObject({ status: "unconfigured", missing: ["MODEL_KEY"] });
    await daemon.fetch("/agent/start", { method: "POST" });
    const refused = await daemon.fetch("/agent/prompt", { method: "POST", body: { text: "hi" } });
    expect([refused.status, refused.json.code]).toEqual([409, "agent_unconfigured"]);
    expect(existsSync(join(daemon.workspace, "started"))).toBe(false);
  });

  test("has failed when its command does not exist, in words", async () => {
    await tellToStart(daemon, { agent: agentOf("no-such-agent") });
    await agentBecomes(daemon, "failed");
    expect((await agentState(daemon)).message).toBe("The agent's command was not found: no-such-agent");
    expect((await daemon.fetch("/health")).status).toBe(200);
  });

  test("has failed when it never answers, and its program is gone", async () => {
    await tellToStart(daemon, { agent: agentOf("/bin/sh", "-c", "echo $$ > pid; sleep 600") });
    await agentBecomes(daemon, "failed");
    expect((await agentState(daemon)).message).toContain("did not answer within 4 seconds");
    const pid = readFileSync(join(daemon.workspace, "pid"), "utf8").trim();
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
  });

  test("has failed after some tries when it ends at once, with its last words", async () => {
    await tellToStart(daemon, { agent: agentOf("/bin/sh", "-c", "echo again >> tries; echo 'no licence' >&2; exit 3") });
    const panel = await openPanel(daemon);
    await expect.poll(() => readFileSync(join(daemon.workspace, "tries"), "utf8")).toMatch(/^(again\n){3}/);
    panel.send({ type: "prompt", requestId: "1", text: "hello?" });
    const notice = await panel.sees("notice");
    expect(notice.text).toContain("no licence");
    await panel.close();
  });

  test("survives nonsense from an agent and from a browser", async () => {
    await tellToStart(daemon, { agent: agentOf("/bin/sh", "-c", "echo not json; echo '[]'; head -c 3000000 /dev/zero; sleep 1") });
    const panel = await openPanel(daemon);
    for (const command of [
      {},
      { type: "?" },
      { type: "open" },
      { type: "open", conversationId: "x" },
      { type: "prompt", requestId: "1" },
      { type: "answer", conversationId: 1 },
    ]) {
      panel.send(command as AgentCommand);
    }
    await expect.poll(() => panel.messages.filter((message) => message.type === "refused").length).toBeGreaterThanOrEqual(4);
    expect((await daemon.fetch("/health")).status).toBe(200);
    await panel.close();
  });
});
