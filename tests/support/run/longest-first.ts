import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Seconds that the slowest files take on two cores. The list only decides the order; CONTRIBUTING.md shows it.
const SLOWEST: Readonly<Record<string, number>> = {
  "tests/browser/agent.test.ts": 101,
  "tests/engines/kubernetes.test.ts": 88,
  "daemon/agent/real-agents.test.ts": 80,
  "tests/browser/connection.test.ts": 76,
  "tests/agents/agent.test.ts": 70,
  "tests/crash/crash.test.ts": 68,
  "server/drivers/kubernetes/resilience.test.ts": 60,
  "tests/operator/down.test.ts": 54,
  "tests/browser/editing/editing.test.ts": 51,
  "tests/isolation/limits/resources.test.ts": 49,
  "tests/browser/ports.test.ts": 25,
  "tests/browser/accessibility.test.ts": 35,
  "tests/browser/launch.test.ts": 35,
  "tests/cluster/replicas.test.ts": 35,
  "tests/isolation/hostile-daemon.test.ts": 34,
  "tests/browser/terminals.test.ts": 30,
  "tests/browser/embed.test.ts": 29,
  "tests/isolation/limits/archives.test.ts": 28,
  "tests/crash/uncaught.test.ts": 26,
  "cli/commands/partner-commands.test.ts": 24,
  "tests/api/client.test.ts": 15,
  "tests/api/programs.test.ts": 12,
  "server/drivers/oci/oci.test.ts": 22,
  "server/sessions/sessions.test.ts": 21,
  "daemon/terminals/terminal-clients.test.ts": 12,
  "server/store/store.test.ts": 20,
  "tests/engines/full-cluster.test.ts": 19,
  "tests/operator/backup.test.ts": 19,
  "server/drivers/kubernetes/kubernetes.test.ts": 18,
  "server/relays/model/model-relay-hostile.test.ts": 18,
  "tests/fuzz/fuzz.test.ts": 17,
  "server/events/webhooks/fairness.test.ts": 17,
  "server/sessions/pool/pool.test.ts": 9,
  "server/sessions/pool/eviction.test.ts": 9,
  "tests/crash/orphans.test.ts": 16,
  "server/sessions/background/reconcile.test.ts": 16,
  "server/drivers/kubernetes/warm-pools/warm-pools.test.ts": 16,
  "cli/commands/session-commands.test.ts": 15,
  "tests/agents/sessions.test.ts": 15,
  "server/relays/model/model-relay-load.test.ts": 15,
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
