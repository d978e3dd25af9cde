import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { DaemonActivity } from "@berth/contract/daemon-internal.ts";
import { withModelSettings } from "../../server/agents/settings.ts";
import type { TestAgent } from "../../tests/support/agents/agents.ts";
import { type ModelServer, startModelServer } from "../../tests/support/agents/model-server.ts";
import { type Panel, startSession } from "./agent-panel.ts";
import { findProcess } from "./processes.ts";
import { startTestDaemon, type TestDaemon } from "./test-daemon.ts";

// A daemon with a real agent and a scripted model. The tests of a suite share them and run in order, because some agents take seconds
// to start. `modelPath` is where the model is: below `/model/` is a relay of the server, whose requests the daemon sees.
export function runAgent(agent: TestAgent, { modelPath = "/v1" } = {}) {
  let daemon: TestDaemon;
  let model: ModelServer;
  beforeAll(async () => {
    daemon = await startTestDaemon();
    model = await startModelServer();
  });
  afterAll(async () => {
    await daemon?.[Symbol.asyncDispose]();
    await model?.[Symbol.asyncDispose]();
  });
  beforeEach(() => void (model.script = []));
  // Wait for the turn to end, so that its end does not count for the next test.
  afterEach(() => expect.poll(async () => (await conversations()).some(({ busy }) => busy)).toBe(false));

  const conversations = async () => (await daemon.fetch("/agent/conversations")).json.conversations;
  const conversation = async (id: string) => (await conversations()).find((each) => each.id === id);

  return {
    get daemon() {
      return daemon;
    },
    get model() {
      return model;
    },
    conversations,
    conversation,
    async startAgentSession({
      extra = {},
      autoStartAgent = true,
    }: { extra?: Record<string, string>; autoStartAgent?: boolean } = {}): Promise<void> {
      const env = { OPENAI_BASE_URL: `${model.url}${modelPath}`, OPENAI_API_KEY: "sk-x", OPENAI_MODEL: "scripted", ...extra };
      await startSession(daemon, { env, agent: withModelSettings(agent.spec, env), autoStartAgent });
    },
    pidOf: () => findProcess({ program: agent.name, home: daemon.home }),
    writeHello: (name = "hello.txt") => agent.write(join(daemon.workspace, name), "hello\n"),
    isBusy: async (id: string) => (await conversation(id))?.busy,
    idleMs: async () => (await daemon.fetch<DaemonActivity>("/internal/activity")).json.agentIdleMs,
    // The id of the conversation that a panel's first prompt has created.
    async created(panel: Panel): Promise<string> {
      const message = () => panel.messages.find(({ type }) => type === "created");
      await expect.poll(message).toBeDefined();
      return panel.messages.find((each) => each.type === "created")!.conversation.id;
    },
  };
}
