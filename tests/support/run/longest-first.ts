import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Seconds that the slowest files take on two cores. The list only decides the order; CONTRIBUTING.md shows it.
const SLOWEST: Readonly<Record<string, number>> = {
  "tests/agents/agent.test.ts": 61,
  "tests/engines/docker.test.ts": 46,
  "tests/browser/editing/editing.test.ts": 41,
  "server/drivers/kubernetes/resilience.test.ts": 40,
  "tests/browser/editing/languages.test.ts": 40,
  "tests/browser/console.test.ts": 39,
  "tests/browser/agent.test.ts": 34,
  "tests/crash/crash.test.ts": 34,
  "tests/cluster/replicas.test.ts": 32,
  "tests/browser/connection.test.ts": 31,
  "tests/isolation/limits/resources.test.ts": 31,
  "tests/operator/down.test.ts": 29,
  "daemon/agent/real-agents.test.ts": 28,
  "server/drivers/docker/docker.test.ts": 28,
  "server/drivers/oci/oci.test.ts": 28,
  "tests/api/programs.test.ts": 28,
  "tests/engines/kubernetes.test.ts": 27,
  "tests/isolation/limits/archives.test.ts": 27,
  "tests/browser/files/file-tree.test.ts": 26,
  "tests/browser/launch.test.ts": 26,
  "tests/browser/agent-states.test.ts": 24,
  "tests/browser/editing/changes.test.ts": 24,
  "tests/browser/embed.test.ts": 24,
  "server/drivers/kubernetes/kubernetes.test.ts": 23,
  "server/events/webhooks/fairness.test.ts": 23,
  "server/sessions/idle/idle-watch.test.ts": 23,
  "tests/agents/sessions.test.ts": 21,
  "tests/browser/editing/tabs.test.ts": 21,
  "tests/browser/terminals.test.ts": 21,
  "tests/api/source.test.ts": 20,
  "server/drivers/docker/resilience.test.ts": 19,
  "tests/browser/files/viewers.test.ts": 19,
  "tests/browser/accessibility.test.ts": 18,
  "tests/browser/hibernate.test.ts": 17,
  "tests/fuzz/harness.test.ts": 16,
  "server/http/docs/docs-routes.test.ts": 15,
  "tests/browser/editing/search.test.ts": 15,
  "tests/browser/together.test.ts": 15,
  "tests/crash/orphans.test.ts": 15,
  "tests/operator/backup.test.ts": 15,
  "tests/api/client.test.ts": 14,
  "tests/browser/editing/settings.test.ts": 14,
  "tests/cluster/three-servers.test.ts": 14,
  "tests/fuzz/fuzz.test.ts": 14,
  "server/sessions/sessions.test.ts": 13,
  "tests/crash/uncaught.test.ts": 13,
  "server/relays/model/model-relay-load.test.ts": 12,
  "tests/api/package.test.ts": 12,
  "tests/browser/ports.test.ts": 12,
  "tests/cluster/two-servers.test.ts": 12,
  "tests/isolation/limits/shared-limits.test.ts": 12,
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
