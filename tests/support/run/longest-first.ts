import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Seconds that the slowest files take on two cores. The list only decides the order; CONTRIBUTING.md shows it.
const SLOWEST: Readonly<Record<string, number>> = {
  "server/drivers/kubernetes/resilience.test.ts": 67,
  "tests/engines/kubernetes.test.ts": 65,
  "tests/browser/editing/editing.test.ts": 64,
  "tests/isolation/limits/archives.test.ts": 64,
  "server/drivers/oci/oci.test.ts": 57,
  "tests/browser/console.test.ts": 55,
  "tests/agents/agent.test.ts": 54,
  "tests/browser/connection.test.ts": 51,
  "daemon/agent/real-agents.test.ts": 46,
  "tests/browser/launch.test.ts": 44,
  "tests/browser/files/file-tree.test.ts": 44,
  "tests/browser/editing/languages.test.ts": 42,
  "tests/crash/crash.test.ts": 41,
  "tests/browser/terminals.test.ts": 41,
  "server/drivers/kubernetes/kubernetes.test.ts": 40,
  "server/sessions/pool/eviction.test.ts": 40,
  "tests/operator/down.test.ts": 38,
  "tests/cluster/replicas.test.ts": 38,
  "tests/browser/agent.test.ts": 37,
  "server/store/store.test.ts": 36,
  "tests/browser/agent-states.test.ts": 35,
  "tests/browser/editing/tabs.test.ts": 35,
  "tests/api/programs.test.ts": 35,
  "tests/api/source.test.ts": 33,
  "tests/browser/embed.test.ts": 30,
  "tests/browser/accessibility.test.ts": 30,
  "tests/isolation/limits/resources.test.ts": 27,
  "tests/browser/editing/changes.test.ts": 25,
  "server/sessions/sessions.test.ts": 24,
  "server/sessions/idle/idle-watch.test.ts": 23,
  "tests/browser/files/viewers.test.ts": 22,
  "tests/operator/backup.test.ts": 22,
  "tests/crash/uncaught.test.ts": 21,
  "server/events/webhooks/fairness.test.ts": 19,
  "tests/browser/preview.test.ts": 18,
  "server/relays/model/model-relay-load.test.ts": 18,
  "tests/browser/editing/search.test.ts": 18,
  "tests/browser/together.test.ts": 17,
  "tests/browser/editing/settings.test.ts": 16,
  "tests/browser/hibernate.test.ts": 15,
  "tests/engines/full-cluster.test.ts": 15,
  "tests/isolation/hostile-daemon.test.ts": 15,
  "server/http/docs/docs-routes.test.ts": 15,
  "tests/fuzz/fuzz.test.ts": 15,
  "tests/cluster/two-servers.test.ts": 15,
  "tests/api/client.test.ts": 15,
  "tests/crash/orphans.test.ts": 15,
  "tests/fuzz/harness.test.ts": 14,
  "tests/browser/escape-sequences.test.ts": 14,
  "tests/agents/sessions.test.ts": 14,
  "server/relays/model/model-relay-hostile.test.ts": 14,
  "tests/api/snapshots.test.ts": 13,
  "tests/browser/files/transfer.test.ts": 13,
  "cli/commands/partner-commands.test.ts": 13,
  "tests/cluster/three-servers.test.ts": 13,
  "server/sessions/pool/pool-growth.test.ts": 13,
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
