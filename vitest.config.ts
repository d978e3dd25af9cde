import { configDefaults, defineConfig } from "vitest/config";
import { reportSkips } from "./tests/support/run/skips.ts";

// These files load the whole machine, so they run one at a time after all others.
const ALONE = ["tests/isolation/fairness/*.test.ts"];

// An older Node fails in the middle, with errors that do not tell why.
if (Number.parseInt(process.versions.node) < 24) {
  console.error(`berth: the tests need Node 24, and this is ${process.versions.node}. Use \`npm test -- {file}\`, which brings its own.`);
  process.exit(1);
}

export default defineConfig({
  test: {
    pool: "forks",
    // One more than the cores of a small machine, because files wait for servers, browsers and engines. Four took as long as three
    // there, and made everything that they wait for slower.
    maxWorkers: 3,
    // Far more than anything takes on an idle machine: a busy one may stall for seconds. No test relies on these limits to
    // prove that something is fast.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    setupFiles: ["tests/support/run/compile-cache.ts", "tests/support/run/leaks.ts", "tests/support/run/seed.ts"],
    reporters: ["default", reportSkips()],
    // A worker runs one file after the other. A new worker for every file would load the same modules again, which costs more
    // than most files.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: "together",
          include: [
            "{contract,client,clients,daemon,native,server,cli,web,docs-site,scripts,bench}/**/*.test.{ts,tsx}",
            "tests/**/*.test.ts",
          ],
          exclude: [...configDefaults.exclude, ...ALONE],
        },
      },
      { extends: true, test: { name: "alone", include: ALONE, fileParallelism: false, sequence: { groupOrder: 1 } } },
    ],
  },
});
