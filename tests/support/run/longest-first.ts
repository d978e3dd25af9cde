import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Seconds that the slowest files take on two cores. The list only decides the order; CONTRIBUTING.md shows it.
const SLOWEST: Readonly<Record<string, number>> = {
  "tests/engines/kubernetes.test.ts": 74,
  "tests/agents/agent.test.ts": 66,
  "server/drivers/kubernetes/resilience.test.ts": 62,
  "tests/crash/crash.test.ts": 56,
  "tests/browser/console.test.ts": 55,
  "tests/engines/docker.test.ts": 52,
  "tests/browser/editing/editing.test.ts": 52,
  "server/drivers/oci/oci.test.ts": 51,
  "tests/browser/files/file-tree.test.ts": 50,
  "tests/browser/editing/languages.test.ts": 50,
  "tests/browser/connection.test.ts": 50,
  "tests/isolation/limits/archives.test.ts": 48,
  "daemon/agent/real-agents.test.ts": 48,
  "tests/browser/launch.test.ts": 46,
  "tests/browser/terminals.test.ts": 44,
  "tests/browser/agent.test.ts": 44,
  "tests/cluster/replicas.test.ts": 41,
  "server/drivers/docker/docker.test.ts": 41,
  "tests/operator/down.test.ts": 39,
  "tests/isolation/limits/resources.test.ts": 37,
  "server/drivers/kubernetes/kubernetes.test.ts": 37,
  "tests/api/source.test.ts": 35,
  "tests/api/programs.test.ts": 35,
  "tests/browser/editing/changes.test.ts": 33,
  "server/drivers/docker/resilience.test.ts": 31,
  "tests/browser/embed.test.ts": 29,
  "tests/browser/editing/tabs.test.ts": 29,
  "tests/api/client.test.ts": 29,
  "tests/browser/accessibility.test.ts": 28,
  "server/events/webhooks/fairness.test.ts": 27,
  "server/http/docs/docs-routes.test.ts": 24,
  "tests/crash/uncaught.test.ts": 23,
  "server/sessions/idle/idle-watch.test.ts": 23,
  "tests/browser/files/viewers.test.ts": 22,
  "tests/browser/agent-states.test.ts": 22,
  "tests/cluster/two-servers.test.ts": 21,
  "tests/engines/full-cluster.test.ts": 20,
  "tests/browser/together.test.ts": 20,
  "tests/browser/hibernate.test.ts": 20,
  "tests/browser/editing/settings.test.ts": 20,
  "tests/browser/preview.test.ts": 19,
  "server/drivers/kubernetes/warm-pools/warm-pools.test.ts": 19,
  "cli/commands/partner-commands.test.ts": 19,
  "tests/operator/backup.test.ts": 18,
  "tests/isolation/hostile-daemon.test.ts": 18,
  "server/store/store.test.ts": 18,
  "tests/fuzz/harness.test.ts": 17,
  "tests/api/package.test.ts": 17,
  "server/sessions/sessions.test.ts": 17,
  "server/relays/model/model-relay-load.test.ts": 17,
  "tests/cluster/three-servers.test.ts": 16,
  "tests/browser/ports.test.ts": 16,
  "tests/api/snapshots.test.ts": 16,
  "tests/fuzz/fuzz.test.ts": 15,
  "tests/crash/orphans.test.ts": 15,
  "tests/browser/editing/search.test.ts": 15,
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
