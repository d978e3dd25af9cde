import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { daemonForRuns } from "../../testing/daemon-for-runs.ts";

const running = daemonForRuns();
const { start, post, becomes, call, newRunId, startAgent, relayed } = running;

describe("the limits of a run", () => {
  test("end it at the next request to the model, and count what it has used", async () => {
    running.model.script = [];
    const used = await becomes(await start({ prompt: "/model /chat/completions", maxTurns: 1, maxTokens: 1_000_000 }), "succeeded");
    // The title and the answer.
    expect(used).toMatchObject({ turns: 1, tokens: { input: 240, output: 60 } });
    const prompt = "/model /chat/completions";
    for (const [limits, reason] of [
      [{ maxTurns: 1 }, "max_turns"],
      [{ maxTokens: 300 }, "max_tokens"],
    ] as const) {
      const before = running.model.requests.length;
      const id = await start({ prompt, ...limits });
      await call(id, "messages", { id: "m", prompt });
      const run = await becomes(id, "interrupted");
      expect(run).toMatchObject({ reason, turns: 1, message: expect.stringContaining("has reached its limit of") });
      expect(running.model.requests.length - before).toBe(2);
    }
  });

  test("are refused if the agent does not use the model of the server", async () => {
    await startAgent({}, { OPENAI_BASE_URL: `${running.model.url}/v1` });
    for (const limits of [{ maxTurns: 3 }, { maxTokens: 3 }]) {
      const refused = await post(newRunId(), { prompt: "Hi", ...limits });
      expect([refused.status, refused.json.code]).toEqual([409, "run_limits_unsupported"]);
    }
    // The settings name the relay, but the agent does not use it.
    await startAgent({}, { ...relayed(), OTHER: "x" });
    writeFileSync(join(running.daemon.workspace, "other.txt"), "a\n");
    const id = await start({ prompt: "/edit other.txt", maxTurns: 5, permissions: "allow" });
    expect(await becomes(id, "failed")).toMatchObject({ code: "run_limits_unsupported" });
    await startAgent();
  });
});
