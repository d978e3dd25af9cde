import { expect, test } from "vitest";
import { openBerthWorld } from "./berth-world.ts";
import { showResult } from "./report.ts";
import { runFuzz } from "./run.ts";
import { createTargets } from "./targets/index.ts";

// The short form of `npm run fuzz`, with a fixed seed, so that a run is reproducible. Use the command for new seeds.
test("two thousand hostile cases cause no crash, no 5xx of ours, no hang and no leak", async () => {
  const result = await runFuzz({ open: openBerthWorld, targets: createTargets, seed: 1, maxCases: 2_000, settleMs: 500 });
  if (result.failures.length + result.leaks.length > 0) expect.fail(showResult(result));
});
