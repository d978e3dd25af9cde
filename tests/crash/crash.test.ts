import { readFileSync, globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { STEPS } from "../../server/sessions/states/outcome.ts";
import { FAIL_POINTS, IMAGE_FAIL_POINTS, crash } from "./rounds.ts";

// The short form: a few fail points and a random moment. The long form is `npm run test:crash -- --rounds 200`.
const SHORT = [
  "make.created",
  "creating.acted",
  "pause.frozen",
  "hibernate.stopped",
  "resume.woken",
  "remove.destroyed",
  "usage.counting",
  "limits.recorded",
  "volume.deleting",
  "snapshot.copied",
  "outbox.recorded",
  "run.delivered",
];

test(
  "a server that is killed at step boundaries or a random moment loses nothing and leaves nothing behind",
  { timeout: 300_000 },
  async () => {
    const found: string[] = [];
    // Few sessions: every round starts the sandboxes of all that are paused.
    for await (const round of crash({ rounds: SHORT.length + 1, seed: 7, points: SHORT, maxSessions: 3 }))
      found.push(...round.violations.map((violation) => `killed at ${round.killedAt}: ${violation}`));
    expect(found).toEqual([]);
  },
);

test("the long form covers every fail point of the server", () => {
  const root = join(import.meta.dirname, "../..");
  const text = globSync("server/sessions/**/*.ts", { cwd: root })
    .map((file) => readFileSync(join(root, file), "utf8"))
    .join("\n");
  const named = [...text.matchAll(/failpoint\("([^"]+)"\)/g)].map(([, name]) => name!);
  // Those that steps.ts names after the step. A discarded row is deleted, so nothing is left after it. Only a program outside
  // Berth freezes a running sandbox, so a run never meets `thawing`; reconcile.test.ts covers it.
  const ofSteps = STEPS.filter((step) => step !== "thawing").flatMap((step) =>
    ["begun", "acted", "left"].map((boundary) => `${step}.${boundary}`),
  );
  const points = [...FAIL_POINTS, ...IMAGE_FAIL_POINTS].flatMap((point) => point.split(", then "));
  expect([...named, ...ofSteps].filter((name) => !points.includes(name) && name !== "discarding.left")).toEqual([]);
});
