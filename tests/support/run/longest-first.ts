import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Seconds that the slowest files take on two cores. The list only decides the order; CONTRIBUTING.md shows it.
const SLOWEST: Readonly<Record<string, number>> = {
  "tests/browser/agent.test.ts": 106,
  "tests/engines/kubernetes.test.ts": 67,
  "tests/agents/agent.test.ts": 66,
  "server/drivers/kubernetes/resilience.test.ts": 59,
  "tests/browser/connection.test.ts": 52,
  "tests/browser/editing/editing.test.ts": 51,
  "tests/isolation/limits/archives.test.ts": 43,
  "tests/browser/accessibility.test.ts": 43,
  "tests/browser/terminals.test.ts": 41,
  "tests/cluster/replicas.test.ts": 40,
  "tests/crash/crash.test.ts": 39,
  "tests/isolation/limits/resources.test.ts": 36,
  "tests/browser/editing/languages.test.ts": 36,
  "tests/browser/editing/changes.test.ts": 35,
  "tests/browser/files/file-tree.test.ts": 34,
  "tests/api/programs.test.ts": 32,
  "tests/browser/launch.test.ts": 29,
  "tests/browser/console.test.ts": 29,
  "server/drivers/kubernetes/kubernetes.test.ts": 28,
  "tests/api/source.test.ts": 27,
  "tests/browser/embed.test.ts": 27,
  "daemon/agent/real-agents.test.ts": 23,
  "daemon/agent/real-agents-openai.test.ts": 21,
  "tests/operator/down.test.ts": 26,
  "server/sessions/idle/idle-watch.test.ts": 25,
  "tests/browser/files/viewers.test.ts": 25,
  "tests/crash/uncaught.test.ts": 24,
  "tests/browser/editing/tabs.test.ts": 22,
  "server/store/store.test.ts": 21,
  "tests/browser/agent-states.test.ts": 20,
  "tests/browser/preview.test.ts": 20,
  "tests/operator/backup.test.ts": 20,
  "server/drivers/oci/oci.test.ts": 17,
  "server/events/webhooks/fairness.test.ts": 17,
  "tests/cluster/two-servers.test.ts": 17,
  "server/sessions/sessions.test.ts": 16,
  "tests/browser/editing/search.test.ts": 16,
  "tests/engines/full-cluster.test.ts": 16,
  "tests/isolation/hostile-daemon.test.ts": 16,
  "tests/browser/hibernate.test.ts": 16,
  "tests/cluster/three-servers.test.ts": 16,
  "tests/agents/sessions.test.ts": 15,
  "tests/operator/master-key.test.ts": 15,
  "tests/fuzz/harness.test.ts": 15,
  "tests/browser/ports.test.ts": 15,
  "cli/commands/installation/doctor.test.ts": 14,
  "server/drivers/kubernetes/warm-pools/warm-pools.test.ts": 14,
  "tests/fuzz/fuzz.test.ts": 14,
  "server/sessions/wake.test.ts": 14,
  "tests/crash/orphans.test.ts": 14,
  "server/relays/model/model-relay-hostile.test.ts": 13,
  "tests/api/client.test.ts": 13,
  "server/sessions/pool/pool-growth.test.ts": 13,
  "tests/engines/node-returns.test.ts": 13,
  "cli/commands/partner-commands.test.ts": 13,
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
