import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeWith, machine } from "../../../tests/support/machine.ts";
import { isMounted, unmount } from "./mounts.ts";
import { callSystem, mustRun } from "./run.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-mounts-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("what another process has unmounted already counts as unmounted", async () => {
  await expect(unmount(folder)).resolves.toBeUndefined();
});

describeWith(machine.root, "a mount", () => {
  test("is released with all that are stacked there, also while a mount is below", async () => {
    for (let i = 0; i < 3; i++) await mustRun("mount", ["-t", "tmpfs", "tmpfs", folder]);
    mkdirSync(join(folder, "below"));
    await mustRun("mount", ["-t", "tmpfs", "tmpfs", join(folder, "below")]);
    await unmount(folder);
    expect(isMounted(folder)).toBe(false);
    expect(isMounted(join(folder, "below"))).toBe(false);
  });

  test("that fails says why", async () => {
    const image = join(folder, "image");
    await expect(callSystem("mountImage", image, folder)).rejects.toMatchObject({ code: "ENOENT" });
    writeFileSync(image, Buffer.alloc(2 ** 20));
    const failing = callSystem("mountImage", image, folder);
    await expect(failing).rejects.toThrow(/^could not mount \/dev\/loop\d+ at .*: invalid argument$/);
    await expect(failing).rejects.toMatchObject({ code: "EINVAL" });
  });
});
