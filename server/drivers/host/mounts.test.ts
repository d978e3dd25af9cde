import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unmount } from "./mounts.ts";

test("what another process has unmounted already counts as unmounted", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-mounts-"));
  await expect(unmount(folder)).resolves.toBeUndefined();
  rmSync(folder, { recursive: true });
});
