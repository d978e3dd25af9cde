import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Seconds that the slowest files take on two cores. The list only decides the order; CONTRIBUTING.md shows it.
const SLOWEST: Readonly<Record<string, number>> = {
  "tests/agents/agent.test.ts": 88,
  "tests/browser/editing/languages.test.ts": 66,
  "tests/crash/crash.test.ts": 50,
  "tests/browser/console.test.ts": 48,
  "tests/browser/agent.test.ts": 46,
  "tests/engines/docker.test.ts": 41,
  "tests/browser/connection.test.ts": 39,
  "server/drivers/kubernetes/resilience.test.ts": 38,
  "daemon/agent/real-agents.test.ts": 37,
  "server/drivers/oci/oci.test.ts": 37,
  "tests/cluster/replicas.test.ts": 37,
  "tests/browser/editing/editing.test.ts": 36,
  "tests/browser/files/file-tree.test.ts": 33,
  "tests/browser/launch.test.ts": 33,
  "tests/engines/kubernetes.test.ts": 32,
  "tests/isolation/limits/archives.test.ts": 32,
  "server/drivers/docker/resilience.test.ts": 31,
  "tests/isolation/limits/resources.test.ts": 30,
  "server/drivers/docker/docker.test.ts": 27,
  "tests/browser/editing/changes.test.ts": 26,
  "tests/browser/preview.test.ts": 25,
  "tests/browser/accessibility.test.ts": 24,
  "server/drivers/kubernetes/kubernetes.test.ts": 23,
  "tests/api/source.test.ts": 23,
  "tests/browser/terminals.test.ts": 23,
  "tests/operator/down.test.ts": 23,
  "tests/api/programs.test.ts": 22,
  "server/sessions/idle/idle-watch.test.ts": 21,
  "tests/browser/editing/tabs.test.ts": 21,
  "tests/browser/embed.test.ts": 21,
  "tests/browser/ports.test.ts": 21,
  "tests/cluster/two-servers.test.ts": 20,
  "tests/api/snapshots.test.ts": 19,
  "tests/browser/agent-states.test.ts": 19,
  "tests/browser/files/viewers.test.ts": 19,
  "tests/browser/source.test.ts": 19,
  "tests/fuzz/fuzz.test.ts": 19,
  "server/sessions/sessions.test.ts": 18,
  "server/http/docs/docs-routes.test.ts": 17,
  "tests/crash/uncaught.test.ts": 17,
  "tests/fuzz/harness.test.ts": 17,
  "tests/api/package.test.ts": 16,
  "tests/browser/together.test.ts": 16,
  "tests/operator/backup.test.ts": 16,
  "server/events/webhooks/fairness.test.ts": 15,
  "tests/browser/hibernate.test.ts": 15,
  "tests/cluster/three-servers.test.ts": 15,
  "tests/operator/doctor.test.ts": 15,
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
