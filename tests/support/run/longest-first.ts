import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Seconds that the slowest files take on two cores. The list only decides the order; CONTRIBUTING.md shows it.
const SLOWEST: Readonly<Record<string, number>> = {
  "tests/browser/agent.test.ts": 130,
  "tests/agents/agent.test.ts": 105,
  "daemon/agent/real-agents.test.ts": 85,
  "tests/engines/kubernetes.test.ts": 85,
  "tests/crash/crash.test.ts": 65,
  "server/drivers/oci/oci.test.ts": 60,
  "server/drivers/kubernetes/resilience.test.ts": 60,
  "tests/browser/connection.test.ts": 60,
  "cli/berth.test.ts": 45,
  "tests/operator/down.test.ts": 40,
  "tests/crash/orphans.test.ts": 30,
  "server/drivers/kubernetes/kubernetes.test.ts": 30,
  "server/events/webhooks/fairness.test.ts": 30,
  "tests/fuzz/fuzz.test.ts": 25,
  "server/http/properties.test.ts": 20,
  "server/http/routes/idempotency.test.ts": 20,
};

// Starts the longest files first, so that none of them runs alone at the end of its group. Every other journey takes longer than
// a unit test. The Docker tests start in between, when their image is ready.
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const secondsOf = ({ moduleId, project }: TestSpecification): number => {
      const path = relative(this.ctx.config.root, moduleId);
      return SLOWEST[path] ?? (project.name === "docker" ? 10 : path.startsWith("tests/") ? 12 : 1);
    };
    const group = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    return files.toSorted((a, b) => group(a) - group(b) || secondsOf(b) - secondsOf(a) || a.moduleId.localeCompare(b.moduleId));
  }
}
