import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Seconds that the slowest files take on two cores. The list only decides the order; CONTRIBUTING.md shows it.
const SLOWEST: Readonly<Record<string, number>> = {
  "tests/engines/kubernetes.test.ts": 87,
  "tests/browser/agent.test.ts": 80,
  "tests/agents/agent.test.ts": 76,
  "daemon/agent/real-agents.test.ts": 71,
  "tests/browser/editing.test.ts": 69,
  "tests/crash/crash.test.ts": 69,
  "server/drivers/kubernetes/resilience.test.ts": 64,
  "tests/browser/terminals.test.ts": 51,
  "tests/browser/accessibility.test.ts": 50,
  "tests/operator/down.test.ts": 47,
  "tests/browser/panels.test.ts": 46,
  "tests/browser/connection.test.ts": 43,
  "tests/cluster/replicas.test.ts": 39,
  "tests/browser/launch.test.ts": 36,
  "tests/browser/embed.test.ts": 35,
  "tests/crash/uncaught.test.ts": 31,
  "tests/operator/backup.test.ts": 27,
  "tests/api/client.test.ts": 25,
  "server/drivers/oci/oci.test.ts": 24,
  "tests/browser/agent-states.test.ts": 24,
  "server/drivers/kubernetes/kubernetes.test.ts": 21,
  "tests/operator/master-key.test.ts": 21,
  "tests/isolation/limits/archives.test.ts": 20,
  "server/events/webhooks/fairness.test.ts": 20,
  "tests/cluster/three-servers.test.ts": 20,
  "tests/fuzz/fuzz.test.ts": 20,
  "tests/browser/changes.test.ts": 20,
  "tests/agents/sessions.test.ts": 19,
  "tests/crash/orphans.test.ts": 19,
  "server/sessions/pool/pool.test.ts": 18,
  "tests/browser/escape-sequences.test.ts": 18,
  "tests/isolation/limits/resources.test.ts": 17,
  "tests/operator/doctor.test.ts": 17,
  "tests/isolation/hostile-daemon.test.ts": 15,
  "server/sessions/sessions.test.ts": 15,
  "tests/engines/full-cluster.test.ts": 15,
  "tests/browser/large-files.test.ts": 15,
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
