import { readdirSync, readlinkSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { callSystem } from "../run.ts";

const RELEASE_TIMEOUT_MS = 5_000;

// Mounts an image. `attached` is the loop device to which it is still attached: two devices over one file would corrupt it.
export async function mountImage(image: string, mountPoint: string, attached: string | undefined): Promise<void> {
  if (attached !== undefined) {
    try {
      return await callSystem("mountDevice", pathOf(attached), mountPoint);
    } catch {
      // The kernel was just releasing the device.
      if (!(await untilReleased(attached, image))) throw new Error(`${image} is still attached to ${attached}`);
    }
  }
  await callSystem("mountImage", image, mountPoint);
}

// Switches the loop device with this number to direct I/O. Otherwise the kernel collects its writes in the host's page cache and flushes
// hundreds of megabytes at once, which delays the syncs of other files. No-op if the file system of the image does not support direct I/O.
export async function bypassPageCache(number: string): Promise<void> {
  const device = loopDevice(number);
  if (device !== undefined) await callSystem("bypassPageCache", pathOf(device)).catch(() => undefined);
}

// The number of the loop device that is mounted at this point, such as 7:3. undefined if there is none.
export function deviceAt(mountPoint: string): string | undefined {
  const [device, above] = [mountPoint, dirname(mountPoint)].map((path) => statSync(path, { throwIfNoEntry: false })?.dev);
  const number = device === undefined || device === above ? undefined : formatNumber(device);
  return loopDevice(number) === undefined ? undefined : number;
}

// As the C library packs it into one number.
function formatNumber(device: number): string {
  const [major, minor] = [(device >>> 8) & 0xfff, (device & 0xff) | ((device >>> 12) & 0xfff00)];
  return `${major}:${minor}`;
}

// The name of a loop device by its number, such as loop3 for 7:3. undefined if it is no loop device.
export function loopDevice(number: string | undefined): string | undefined {
  try {
    const name = number === undefined ? "" : basename(readlinkSync(`/sys/dev/block/${number}`));
    return name.startsWith("loop") ? name : undefined;
  } catch {
    return undefined;
  }
}

export const findLoopDevice = (image: string): string | undefined =>
  readdirSync("/sys/block").find((device) => device.startsWith("loop") && isAttached(device, image));

// Returns false if the image is still attached to the device after the timeout.
export async function untilReleased(device: string, image: string): Promise<boolean> {
  for (const endMs = performance.now() + RELEASE_TIMEOUT_MS; performance.now() < endMs; await sleep(2))
    if (!isAttached(device, image)) return true;
  return false;
}

function isAttached(device: string, image: string): boolean {
  const backing = readFileIfReadable(`/sys/block/${device}/loop/backing_file`)?.trim();
  return backing === image || backing === `${image} (deleted)`;
}

const pathOf = (device: string) => `/dev/${device}`;
