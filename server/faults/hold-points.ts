import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

// Points at which tests hold the work on one session, sandbox or snapshot, so that another call meets it there. A test writes the file
// `{id} {point}` into the folder BERTH_TEST_HOLDS. The work that reaches the point renames it to `{id} {point} reached` and goes on when
// the test has deleted that file. Without the variable a hold point is a no-op. Read from the environment and not from the configuration,
// because it is no setting for operators.
const folder = process.env.BERTH_TEST_HOLDS ?? "";
const LOOK_MS = 2;

export const holdPoint: (id: string, point: string) => Promise<void> | undefined =
  folder === ""
    ? () => undefined
    : (id, point) => {
        const armed = join(folder, `${id} ${point}`);
        return existsSync(armed) ? holdAt(armed) : undefined;
      };

async function holdAt(armed: string): Promise<void> {
  const reached = `${armed} reached`;
  renameSync(armed, reached);
  while (existsSync(reached)) await delay(LOOK_MS);
}
