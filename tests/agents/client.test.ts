import { expect } from "vitest";
import { createBerth, SessionConflictError } from "../../client/index.ts";
import { modelSettings, preferredAgent as agent } from "../support/agents/agents.ts";
import { startBerth } from "../support/servers/berth.ts";
import { testWith } from "../support/machine.ts";
import { startModelServer } from "../support/agents/model-server.ts";
import { daemonRuntime } from "../support/runtime.ts";

// The real agent in a real sandbox; only the model is scripted.
testWith(agent.missing, "the client prompts the agent, which changes the sandbox and answers", async () => {
  await daemonRuntime();
  await using model = await startModelServer();
  await using server = await startBerth(modelSettings(model));
  const berth = createBerth({ baseUrl: server.url, apiKey: server.key });
  const session = await berth.sessions.create({ externalUserId: "ada" });

  model.script = [agent.shell("echo done > result.txt"), { say: "I have written result.txt." }];
  const answer = await session.agent.ask("Write a result.", { permissions: "allow" });
  expect(answer).toMatchObject({ text: expect.stringContaining("I have written result.txt."), stopReason: "end_turn" });
  expect(await session.files.readText("result.txt")).toBe("done\n");

  // Leaving the loop during a second prompt cancels the turn, and the next turn may begin.
  model.script = [{ sayAndHang: "This takes long" }];
  for await (const message of session.agent.prompt("Go on.", { conversationId: answer.conversationId })) {
    if (message.type !== "append") continue;
    await expect(session.agent.ask("And this?", { conversationId: answer.conversationId })).rejects.toThrow(SessionConflictError);
    break;
  }
  await expect.poll(() => session.agent.ask("Still there?").then(({ text }) => text, String)).toBe("Done.");
  await session.destroy();
});
