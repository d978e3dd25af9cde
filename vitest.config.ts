import { defineConfig } from "vitest/config";

// Two groups: what runs in parallel, and journeys over real processes, sandboxes and a browser, which run one file at a
// time so that their timings mean something on two cores.
export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    setupFiles: ["tests/support/leaks.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["{contract,client,daemon,server,cli,web,scripts}/**/*.test.{ts,tsx}"],
        },
      },
      {
        extends: true,
        test: {
          name: "journeys",
          include: ["tests/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
