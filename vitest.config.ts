import { configDefaults, defineConfig } from "vitest/config";
import { reportSkips } from "./tests/support/run/skips.ts";

// Journeys that measure time, take the machine's memory or kill servers: one at a time, so that they mean something.
const ALONE = [
  "tests/browser/performance.test.ts",
  "tests/isolation/limits/resources.test.ts",
  "tests/isolation/fairness/*.test.ts",
  "tests/faults/*.test.ts",
  "tests/crash/uncaught.test.ts",
  "tests/operator/down.test.ts",
  "tests/crash/crash.test.ts",
];
// They need an image whose Debian root takes its time: it is made while the groups before them run.
const DOCKER = [
  "server/drivers/docker/docker.test.ts",
  "server/drivers/docker/filter.test.ts",
  "server/drivers/docker/resilience.test.ts",
  "tests/engines/docker.test.ts",
];

// Four groups, one after the other: what sits beside the code, journeys over real processes, sandboxes and a browser,
// those on Docker, and those that must be alone.
export default defineConfig({
  test: {
    pool: "forks",
    // One more than there are cores on a small machine: much of the time is waiting for a browser or an engine.
    maxWorkers: 3,
    // Far more than anything takes on a quiet machine: on a shared one everything may stand still for seconds, and what
    // works costs nothing of it. No test proves by these that something is quick.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    setupFiles: ["tests/support/run/leaks.ts"],
    reporters: ["default", reportSkips()],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["{contract,client,daemon,server,cli,web,scripts}/**/*.test.{ts,tsx}"],
          exclude: [...configDefaults.exclude, ...DOCKER],
        },
      },
      {
        extends: true,
        test: {
          name: "journeys",
          include: ["tests/**/*.test.ts"],
          exclude: [...ALONE, ...DOCKER],
          testTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "docker",
          include: DOCKER,
          globalSetup: ["tests/support/docker/debian-root.ts"],
          testTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: { name: "alone", include: ALONE, fileParallelism: false, testTimeout: 120_000, sequence: { groupOrder: 3 } },
      },
    ],
  },
});
