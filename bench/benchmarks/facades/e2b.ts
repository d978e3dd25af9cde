import type { Session } from "@berth/contract";
import type { Benchmark } from "../../support/benchmark.ts";
import { alternate, timedInSequence } from "../../support/rounds.ts";
import { openServer } from "../../support/server.ts";
import { createWire } from "../../../tests/e2b/wire-client.ts";

const EXEC = "Berth's API, exec";
const PROCESS = "Berth's API, a process";
const FACADE = "E2B's API";
const SDK = "E2B's SDK";
const COMMAND = "true";
const ARGS = ["/bin/bash", "-l", "-c", COMMAND];

// One server answers all of them. A command of E2B is a process of Berth. Each iteration destroys its sandbox, which is not measured.
export const benchmark: Benchmark = {
  summary: "from create to the end of the first command, through the E2B API beside our own",
  async run(run) {
    const perRound = run.isShort ? 4 : 10;
    // Every iteration finds a warm sandbox, so that the time is that of the calls.
    await using server = await openServer(run, { poolSize: perRound });
    const { caller, berth, settle } = server;
    const { create } = createWire(berth.url, berth.key);
    const { Sandbox } = await import("e2b");
    const options = { apiKey: berth.key, apiUrl: `${berth.url}/e2b`, sandboxUrl: `${berth.url}/e2b/envd` };

    // The same client as that of the E2B API, so that the APIs are compared.
    async function post(path: string, body: object, accept = "*/*"): Promise<string> {
      const headers = { "x-api-key": berth.key, "content-type": "application/json", accept };
      const response = await fetch(`${berth.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      if (!response.ok) throw new Error(`${path} answered ${response.status}`);
      return response.text();
    }
    async function runOwn(call: (sandboxPath: string) => Promise<string>, success: string) {
      const session = JSON.parse(await post("/api/b2b/sessions", { externalUserId: "bench", autoStartAgent: false })) as Session;
      const answer = await call(`/sandboxes/${session.sandboxId}`);
      if (!answer.includes(success)) throw new Error(`${COMMAND} failed: ${answer}`);
      return () => caller.destroy(session);
    }

    // Each returns the call that destroys the sandbox.
    const iterations: Record<string, () => Promise<() => Promise<unknown>>> = {
      [EXEC]: () => runOwn((path) => post(`${path}/exec`, { command: ARGS }), '"code":0'),
      [PROCESS]: () => runOwn((path) => post(`${path}/processes`, { args: ARGS }, "text/event-stream"), '"exitCode":0'),
      async [FACADE]() {
        const box = await create();
        const { exitCode } = await box.run(COMMAND);
        if (exitCode !== 0) throw new Error(`${COMMAND} ended with ${exitCode}`);
        return () => caller.call("DELETE", `/e2b/sandboxes/${box.id}`, 204);
      },
      async [SDK]() {
        const box = await Sandbox.create(options);
        await box.commands.run(COMMAND);
        return () => box.kill();
      },
    };
    const contestants = Object.entries(iterations)
      .filter(([name]) => run.wants(name))
      .map(([name, iterate]) => ({
        name,
        async round() {
          const destroys: (() => Promise<unknown>)[] = [];
          const values = await timedInSequence(perRound, async () => destroys.push(await iterate()));
          for (const destroy of destroys) await destroy();
          await settle();
          return values;
        },
      }));
    const measured = await alternate(contestants, { rounds: run.rounds(6, 2), warmUps: 1 });
    return [
      {
        title: `Create to the end of \`${COMMAND}\`, with a warm sandbox`,
        rows: [...measured].map(([what, values]) => ({
          what,
          unit: "ms" as const,
          values,
          ...(what !== EXEC && { beside: EXEC }),
          ...(what === FACADE && { targets: [{ of: "ratio" as const, atMost: 1.2 }] }),
        })),
      },
    ];
  },
};
