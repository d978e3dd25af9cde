import type { Benchmark } from "../support/benchmark.ts";
import { alternate, timedInSequence } from "../support/rounds.ts";
import { openServer } from "../support/server.ts";
import { createWire } from "../../tests/e2b/wire-client.ts";

const OWN = "Berth's API";
const FACADE = "E2B's API";
const SDK = "E2B's SDK";
const COMMAND = "true";

// The same server answers both APIs. Each iteration destroys its sandbox, which is not measured.
export const benchmark: Benchmark = {
  summary: "from create to the end of the first command, through the E2B API beside our own",
  async run(run) {
    const perRound = run.isShort ? 5 : 20;
    // Every iteration finds a warm sandbox, so that the time is that of the calls.
    await using server = await openServer(run, { poolSize: 4 });
    const { caller, berth, settle } = server;
    const { create } = createWire(berth.url, berth.key);
    const { Sandbox } = await import("e2b");
    const options = { apiKey: berth.key, apiUrl: `${berth.url}/e2b`, sandboxUrl: `${berth.url}/e2b/envd` };
    // Returns the call that destroys the sandbox.
    const iterations: Record<string, () => Promise<() => Promise<unknown>>> = {
      async [OWN]() {
        const session = await caller.create();
        await caller.exec(session.sandboxId, ["/bin/bash", "-l", "-c", COMMAND]);
        return () => caller.destroy(session);
      },
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
    const contestants = Object.entries(iterations).map(([name, iterate]) => ({
      name,
      async round() {
        const values: number[] = [];
        for (let i = 0; i < perRound; i++) {
          await settle();
          let destroy: () => Promise<unknown> = async () => {};
          values.push(...(await timedInSequence(1, async () => (destroy = await iterate()))));
          await destroy();
        }
        return values;
      },
    }));
    const measured = await alternate(contestants, { rounds: run.rounds(5, 2), warmUps: 1 });
    return [
      {
        title: `Create to the end of \`${COMMAND}\`, with a warm sandbox`,
        rows: [...measured].map(([what, values]) => ({
          what,
          unit: "ms" as const,
          values,
          ...(what !== OWN && { beside: OWN }),
          ...(what === FACADE && { targets: [{ of: "ratio" as const, atMost: 1.2 }] }),
        })),
      },
    ];
  },
};
