import { dockerMissing, startDockerEngine } from "../../../tests/support/docker/engine.ts";
import { onPath } from "../../../tests/support/on-path.ts";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import type { Section } from "../../report/report.ts";
import type { Benchmark } from "../../support/benchmark.ts";
import { alternate, timed } from "../../support/rounds.ts";
import { runProgram } from "../../support/run-program.ts";
import { openServer } from "../../support/server.ts";

const AT_ONCE = 20;
const NODE = "/opt/berth/bin/node -v";
const BERTH = "Berth on Docker, no pool";
const DOCKER = "docker run";

// Sandboxes on a private Engine, beside containers of the same image.
export const benchmark: Benchmark = {
  summary: `${AT_ONCE} creates at once on Docker without a pool, beside \`docker run\` of the same image`,
  async run(run) {
    if (dockerMissing !== undefined) {
      run.remark(`Not measured: it ${dockerMissing}.`);
      return [];
    }
    const engine = await startDockerEngine();
    run.resources.own(engine);
    const runtime = await daemonRuntime();
    const env = { BERTH_DRIVER: "docker", BERTH_DOCKER_SOCKET: engine.socketPath, BERTH_SANDBOX_IMAGE: engine.image };
    await using server = await openServer(run, { poolSize: 0, env });
    const args = ["run", "--rm", "--network", "none", "--volume", `${runtime}:/opt/berth:ro`, engine.image, "/bin/sh", "-c", NODE];
    const dockerRun = () => runProgram(onPath("docker")!, ["--host", `unix://${engine.socketPath}`, ...args]);
    const together = (work: () => Promise<number>) => Promise.all(Array.from({ length: AT_ONCE }, work));

    async function create(): Promise<number> {
      const startedMs = performance.now();
      const session = await server.caller.create();
      await server.caller.exec(session.sandboxId, NODE);
      const tookMs = performance.now() - startedMs;
      await server.caller.destroy(session);
      return tookMs;
    }

    const measured = await alternate(
      [
        {
          name: BERTH,
          async round() {
            const values = await together(create);
            await server.settle();
            return values;
          },
        },
        { name: DOCKER, round: () => together(() => timed(dockerRun)) },
      ],
      { rounds: run.rounds(3, 1), warmUps: 1, isOver: run.isOver },
    );
    const section: Section = {
      title: `Create to the output of \`node -v\` on Docker, ${AT_ONCE} at once`,
      rows: [
        { what: BERTH, unit: "ms", values: measured.get(BERTH)!, beside: DOCKER, targets: [{ of: "ratio", atMost: 1.3 }] },
        { what: DOCKER, unit: "ms", values: measured.get(DOCKER)! },
      ],
    };
    return [run.keep(section)];
  },
};
