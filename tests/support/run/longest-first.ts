import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Seconds that the slowest files take on two cores. The list only decides the order; CONTRIBUTING.md shows it.
const SLOWEST: Readonly<Record<string, number>> = {
  "tests/agents/agent.test.ts": 72,
  "tests/browser/editing/languages.test.ts": 47,
  "tests/crash/crash.test.ts": 43,
  "tests/browser/console.test.ts": 38,
  "tests/engines/docker.test.ts": 37,
  "tests/browser/agent.test.ts": 35,
  "tests/browser/editing/editing.test.ts": 35,
  "server/drivers/kubernetes/resilience.test.ts": 34,
  "tests/browser/connection.test.ts": 34,
  "tests/browser/launch.test.ts": 31,
  "tests/browser/files/file-tree.test.ts": 30,
  "tests/cluster/replicas.test.ts": 30,
  "tests/engines/kubernetes.test.ts": 28,
  "daemon/agent/real-agents.test.ts": 26,
  "server/drivers/kubernetes/kubernetes.test.ts": 25,
  "tests/api/source.test.ts": 25,
  "server/drivers/docker/docker.test.ts": 23,
  "tests/isolation/limits/resources.test.ts": 23,
  "tests/operator/down.test.ts": 22,
  "tests/browser/editing/changes.test.ts": 21,
  "tests/browser/embed.test.ts": 19,
  "tests/api/programs.test.ts": 18,
  "tests/browser/editing/tabs.test.ts": 18,
  "tests/browser/terminals.test.ts": 18,
  "tests/fuzz/harness.test.ts": 18,
  "tests/isolation/limits/archives.test.ts": 18,
  "server/drivers/docker/resilience.test.ts": 17,
  "server/drivers/oci/oci.test.ts": 17,
  "server/events/webhooks/fairness.test.ts": 17,
  "tests/fuzz/fuzz.test.ts": 17,
  "tests/browser/agent-states.test.ts": 16,
  "tests/crash/uncaught.test.ts": 16,
  "server/sessions/idle/idle-watch.test.ts": 15,
  "server/sessions/sessions.test.ts": 15,
  "tests/api/snapshots.test.ts": 15,
  "tests/browser/accessibility.test.ts": 15,
  "tests/browser/files/viewers.test.ts": 14,
  "server/http/docs/docs-routes.test.ts": 13,
  "tests/cluster/three-servers.test.ts": 13,
  "tests/crash/orphans.test.ts": 13,
  "tests/browser/editing/settings.test.ts": 12,
  "tests/browser/hibernate.test.ts": 12,
  "tests/browser/together.test.ts": 12,
  "tests/cluster/two-servers.test.ts": 12,
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
