import { describe, expect, test } from "vitest";
import type { PermissionRule } from "@berth/contract/agent.ts";
import { openPanel } from "../../testing/agent-panel.ts";
import { daemonForRuns } from "../../testing/daemon-for-runs.ts";

const running = daemonForRuns();
const { start, post, get, becomes, call, newRunId, startAgent } = running;

describe("permissions of a run", () => {
  const rules: PermissionRule[] = [
    { tool: "shell", command: "npm test*", allow: true },
    { tool: "shell", command: "rm*", allow: false },
  ];

  test("are answered by its rules, then by those of the template, and the rest asks", async () => {
    await startAgent({ permissions: [{ tool: "shell", command: "ls*", allow: true }], askingModes: ["code"] });
    const answerTo = async (command: string) => {
      const id = await start({ prompt: `/ask ${command}`, permissions: rules });
      await expect.poll(async () => (await get(id)).status).toMatch(/needs_input|succeeded/);
      const { status, text, conversationId } = await get(id);
      if (status === "needs_input") await call(id, "interrupt");
      if (status === "needs_input") await becomes(id, "interrupted");
      return status === "needs_input" ? { text: "asks", conversationId } : { text, conversationId };
    };
    // Every new conversation begins in the mode in which the agent asks.
    const panel = await openPanel(running.daemon);
    panel.send({ type: "prompt", requestId: "1", text: "Hi" });
    await expect
      .poll(() => panel.items().flatMap((item) => (item.kind === "assistant" ? item.text : [])))
      .toEqual(["Hi (mode code, model small, parts text)"]);
    await panel.close();
    await startAgent({ permissions: [{ tool: "shell", command: "ls*", allow: true }] });
    expect((await answerTo("npm test -- --run")).text).toBe("The answer is allow_once.");
    expect((await answerTo("rm -rf ~")).text).toBe("The answer is reject_once.");
    expect((await answerTo("ls -l")).text).toBe("The answer is allow_once.");
    expect((await answerTo("npm test; rm -rf ~")).text).toBe("asks");
    const { conversationId, text } = await answerTo("npm test $(x)");
    expect(text).toBe("asks");
    const { json } = await running.daemon.fetch<{ conversation: { rules: PermissionRule[] } }>(`/agent/conversations/${conversationId}`);
    // After the run, those of the template are left.
    expect(json.conversation.rules).toEqual([{ tool: "shell", command: "ls*", allow: true }]);
    await startAgent();
  });

  test("are refused if the agent would not ask, and end the run if it leaves the mode in which it asks", async () => {
    expect((await post(newRunId(), { prompt: "Hi", mode: "code" })).json).toMatchObject({ code: "run_never_asks" });
    expect((await post(newRunId(), { prompt: "Hi", permissions: [{ tool: "edit", command: "x", allow: true }] })).status).toBe(400);
    expect((await post(newRunId(), { prompt: "Hi", permissions: "yes" })).status).toBe(400);
    expect((await post(newRunId(), { prompt: "Hi", conversationId: "conv_0000000000000000" })).status).toBe(404);
    const id = await start({ prompt: "/ask x" });
    const { conversationId } = await becomes(id, "needs_input");
    const panel = await openPanel(running.daemon);
    panel.send({ type: "mode", conversationId: conversationId!, modeId: "code" });
    expect(await becomes(id, "failed")).toMatchObject({ code: "run_never_asks", reason: "error" });
    await panel.close();
    await startAgent({ askingModes: undefined });
    expect(await becomes(await start({ prompt: "Hi" }), "failed")).toMatchObject({ code: "run_never_asks" });
    await becomes(await start({ prompt: "Hi", mode: "ask" }), "succeeded");
    await becomes(await start({ prompt: "Hi", permissions: "allow" }), "succeeded");
    await startAgent({ askingModes: ["careful"] });
    expect(await becomes(await start({ prompt: "Hi" }), "failed")).toMatchObject({ code: "run_never_asks" });
    await startAgent();
  });
});
