import { afterAll, beforeAll } from "vitest";
import type { AgentProgram } from "@berth/contract/daemon-internal.ts";
import { type ModelServer, startModelServer } from "../../tests/support/agents/model-server.ts";
import { runsOf } from "./runs.ts";
import { startTestDaemon, type TestDaemon } from "./test-daemon.ts";

// A daemon with the scripted agent, which uses the model of the server. The tests of a file share them.
export function daemonForRuns() {
  let daemon: TestDaemon;
  let model: ModelServer;
  const runs = runsOf(() => daemon);
  const relayed = () => ({ OPENAI_BASE_URL: `${model.url}/model/openai/v1` });
  const startAgent = (more: Partial<AgentProgram> = {}, env: Record<string, string> = relayed()) => runs.startAgent(more, env);

  beforeAll(async () => {
    daemon = await startTestDaemon();
    model = await startModelServer();
    await startAgent();
  });
  afterAll(async () => {
    await daemon?.[Symbol.asyncDispose]();
    await model?.[Symbol.asyncDispose]();
  });

  return {
    ...runs,
    relayed,
    startAgent,
    // The events of a run in the outbox.
    types: async (id: string) => (await runs.news(id)).map(({ type, data: { status } }) => `${type} ${status}`),
    get daemon() {
      return daemon;
    },
    get model() {
      return model;
    },
  };
}
