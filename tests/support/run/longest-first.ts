import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Seconds that the slowest files take on two cores of arm64, where opencode is the only agent. The list only decides the order;
// CONTRIBUTING.md shows the first of them.
const SLOWEST: Readonly<Record<string, number>> = {
  "tests/agents/agent.test.ts": 80,
  "tests/browser/agent.test.ts": 80,
  "tests/agents/sessions.test.ts": 60,
  "tests/agents/changes.test.ts": 48,
  "tests/browser/console.test.ts": 37,
  "server/drivers/kubernetes/resilience.test.ts": 32,
  "tests/browser/editing/languages.test.ts": 31,
  "tests/crash/crash.test.ts": 31,
  "tests/engines/docker.test.ts": 31,
  "tests/conditions/stop.test.ts": 30,
  "tests/races/races.test.ts": 30,
  "tests/browser/launch.test.ts": 29,
  "tests/cluster/replicas.test.ts": 29,
  "tests/browser/editing/editing.test.ts": 28,
  "tests/engines/kubernetes.test.ts": 27,
  "tests/browser/connection.test.ts": 26,
  "tests/conditions/foreign-stores.test.ts": 26,
  "daemon/agent/model/model-faults.test.ts": 25,
  "daemon/agent/real-agents-openai.test.ts": 25,
  "tests/conditions/full-disk.test.ts": 25,
  "tests/browser/files/file-tree.test.ts": 21,
  "tests/isolation/limits/resources.test.ts": 20,
  "server/drivers/kubernetes/kubernetes.test.ts": 19,
  "tests/browser/editing/changes.test.ts": 19,
  "tests/browser/embed.test.ts": 19,
  "server/drivers/docker/docker.test.ts": 17,
  "tests/browser/accessibility.test.ts": 17,
  "tests/browser/terminals.test.ts": 17,
  "tests/api/source.test.ts": 16,
  "tests/browser/editing/tabs.test.ts": 16,
  "tests/fuzz/harness.test.ts": 16,
  "server/drivers/oci/oci.test.ts": 15,
  "server/http/docs/docs-routes.test.ts": 15,
  "tests/crash/uncaught.test.ts": 15,
  "tests/browser/files/viewers.test.ts": 14,
  "tests/browser/hibernate.test.ts": 14,
  "tests/fuzz/fuzz.test.ts": 14,
  "tests/isolation/limits/archives.test.ts": 14,
  "server/sessions/sessions.test.ts": 13,
  "tests/api/programs.test.ts": 13,
  "tests/browser/agent-states.test.ts": 13,
  "tests/browser/editing/settings.test.ts": 13,
  "tests/browser/together.test.ts": 13,
  "tests/conditions/canary.test.ts": 13,
  "tests/crash/orphans.test.ts": 13,
  "tests/operator/down.test.ts": 13,
  "daemon/agent/real-agents.test.ts": 12,
  "server/drivers/docker/resilience.test.ts": 12,
  "tests/cluster/three-servers.test.ts": 12,
  "tests/support/servers/shared-berth.test.ts": 12,
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
