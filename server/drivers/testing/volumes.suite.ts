import { newId, type SandboxId, type VolumeMode } from "@berth/contract";
import { afterEach, expect } from "vitest";
import { testWith, type Missing } from "../../../tests/support/machine.ts";
import type { Driver, SandboxSpec, SandboxVolume } from "../driver.ts";

interface Opened {
  driver: Driver;
  newSpec(): SandboxSpec;
}

const PATH = "/home/user/shared/cache";

// The part of driver.suite.ts about volumes. `missing` says why a driver has none, and `same` why a variant of a driver needs only one test.
export function volumesSuite(
  { missing, same }: { missing: Missing; same: Missing },
  opened: () => Opened,
  exec: (driver: Driver, id: SandboxId, command: string) => Promise<string>,
): void {
  const used = new Set<SandboxVolume["id"]>();
  const sandboxes = new Set<SandboxId>();
  const newVolume = (): SandboxVolume => {
    const id = newId("vol", Date.now());
    used.add(id);
    return { id, path: PATH, mode: "rw", sizeMb: 32 };
  };
  const created = async (volume: SandboxVolume, mode: VolumeMode) => {
    const { driver, newSpec } = opened();
    const spec = { ...newSpec(), volumes: [{ ...volume, mode }] };
    sandboxes.add(spec.id);
    await driver.create(spec, deadline());
    return spec;
  };
  const sh = ({ id }: SandboxSpec, command: string) => exec(opened().driver, id, command);
  // The home of a sandbox without isolation is another one.
  const AT = "cd ~/shared/cache";

  afterEach(async () => {
    const { driver } = opened();
    for (const id of sandboxes) await driver.destroy(id, deadline());
    for (const id of used) await driver.volumes?.remove(id, deadline());
    sandboxes.clear();
    used.clear();
  });

  testWith(
    [missing, same],
    "a volume keeps its files without the sandbox that has written them, others read them, and its removal leaves nothing",
    async () => {
      const { driver } = opened();
      const volume = newVolume();
      const writer = await created(volume, "rw");
      await sh(writer, `${AT} && mkdir -m 700 private && echo data > private/file && chmod 600 private/file`);
      await driver.destroy(writer.id, deadline());
      const [one, two] = [await created(volume, "ro"), await created(volume, "ro")];
      expect(await sh(one, `${AT} && cat private/file`)).toBe("data\n");
      expect(await sh(two, `${AT} && cat private/file; ls -A`)).toBe("data\nprivate\n");
      if (driver.traits.isolates) {
        for (const change of ["touch new", "rm -r private", "chmod 777 .", "echo x > private/file"])
          expect(await sh(one, `${AT} && (${change}) 2> /dev/null || echo refused`)).toBe("refused\n");
        expect(await sh(two, `${AT} && ls -A`)).toBe("private\n");
      }
      const next = await created(volume, "rw");
      await sh(next, `${AT} && echo more >> private/file`);
      expect(await sh(two, `${AT} && cat private/file`)).toBe("data\nmore\n");

      expect(await driver.volumes!.list(deadline())).toEqual([volume.id]);
      for (const { id } of [one, two, next]) await driver.destroy(id, deadline());
      await driver.volumes!.remove(volume.id, deadline());
      await driver.volumes!.remove(volume.id, deadline());
      expect(await driver.volumes!.list(deadline())).toEqual([]);
      expect(await sh(await created(volume, "ro"), `${AT} && ls -A`)).toBe("");
    },
  );

  testWith(missing, "a volume is there again after a hibernation, whatever the sandbox has put in its place", async () => {
    const { driver } = opened();
    const spec = await created(newVolume(), "rw");
    await sh(spec, `${AT} && echo kept > file`);
    await sh(spec, "mv ~/shared ~/moved && ln -s nowhere ~/shared");
    await driver.hibernate(spec.id, deadline());
    await driver.resume(spec, deadline());
    expect(await sh(spec, `${AT} && cat file && touch writable`)).toBe("kept\n");
  });
}

const deadline = () => AbortSignal.timeout(60_000);
