import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openProcessGroups } from "./process-groups.ts";

test("a group that the runtime has created for a sandbox is removed, and no other", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-groups-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [state, own, other] = ["containers/sbx_1/sbx_1", "app.slice/sbx_1", "app.slice/terminal.scope"].map((path) => join(folder, path));
  for (const path of [state!, own!, other!]) mkdirSync(path, { recursive: true });
  writeFileSync(join(state!, "state.json"), JSON.stringify({ cgroup_paths: { "": own, memory: other } }));
  const groups = openProcessGroups({ stateDir: join(folder, "containers"), sandboxesDir: join(folder, "sandboxes") });
  await groups.remove("sbx_1");
  await groups.remove("sbx_2");
  expect([existsSync(own!), existsSync(other!)]).toEqual([false, true]);
});
