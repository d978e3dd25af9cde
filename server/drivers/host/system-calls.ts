import { open, type FileHandle } from "node:fs/promises";
import { constants } from "node:os";
import { getSystemErrorMessage, getSystemErrorName } from "node:util";
import { type Koffi, loadKoffi } from "../../../native/koffi.ts";

// System calls for which Node has no function. Programs such as `mount`, `losetup` and `umount` take ten times the processor time and
// twenty times the time of the calls. For run-worker.ts: a call blocks a thread until the kernel is done, such as with writing
// what a file system holds.
export const callSystem = (call: SystemCall, [first = "", second = ""]: readonly string[]): Promise<void> => CALLS[call](first, second);

const CALLS = { mountDevice, mountImage, bypassPageCache, unmount };

export type SystemCall = keyof typeof CALLS;

// Of Linux, the same for x64 and arm64.
const MS_NOSUID = 2;
const MS_NODEV = 4;
const MS_NOATIME = 1024;
const MNT_DETACH = 2;
const UMOUNT_NOFOLLOW = 8;
const LOOP_CONFIGURE = 0x4c0a;
const LOOP_SET_DIRECT_IO = 0x4c08;
const LOOP_CTL_GET_FREE = 0x4c82;
// Of `struct loop_config`: its size, and where it has the flags. The descriptor of the file is at its beginning.
const LOOP_CONFIG_BYTES = 304;
const FLAGS_OFFSET = 60;
// The kernel detaches the image with the last mount.
const LO_FLAGS_AUTOCLEAR = 4;
const DISK_OPTIONS = "discard,noinit_itable,errors=remount-ro";
// Another process may take the free device first.
const ATTACH_ATTEMPTS = 64;

// Mounts the ext4 file system of a block device.
async function mountDevice(device: string, mountPoint: string): Promise<void> {
  const { mount } = library();
  const result = await mount(device, mountPoint, "ext4", MS_NOSUID | MS_NODEV | MS_NOATIME, DISK_OPTIONS);
  if (result < 0) throw failure(`mount ${device} at ${mountPoint}`, result);
}

// Attaches the image to a free loop device and mounts that.
async function mountImage(image: string, mountPoint: string): Promise<void> {
  // The kernel keeps the device while it is open or mounted.
  await using device = await attach(image);
  await mountDevice(device.path, mountPoint);
}

async function attach(image: string): Promise<FileHandle & { path: string }> {
  const { ioctl } = library();
  await using file = await open(image, "r+");
  await using control = await open("/dev/loop-control", "r+");
  const config = Buffer.alloc(LOOP_CONFIG_BYTES);
  config.writeUInt32LE(file.fd, 0);
  config.writeUInt32LE(LO_FLAGS_AUTOCLEAR, FLAGS_OFFSET);
  for (let attempt = 1; ; attempt++) {
    const free = await ioctl(control.fd, LOOP_CTL_GET_FREE, null);
    if (free < 0) throw failure("find a free loop device", free);
    const path = `/dev/loop${free}`;
    const device = await open(path, "r+");
    const result = await ioctl(device.fd, LOOP_CONFIGURE, config);
    if (result >= 0) return Object.assign(device, { path });
    await device.close();
    const error = failure(`attach ${image} to ${path}`, result);
    if (error.code !== "EBUSY" || attempt === ATTACH_ATTEMPTS) throw error;
  }
}

// Switches a loop device to direct I/O.
async function bypassPageCache(path: string): Promise<void> {
  await using device = await open(path, "r+");
  const result = await library().ioctl(device.fd, LOOP_SET_DIRECT_IO, 1);
  if (result < 0) throw failure(`switch ${path} to direct I/O`, result);
}

// See mounts.ts.
async function unmount(mountPoint: string): Promise<void> {
  const { umount2 } = library();
  for (;;) {
    let result = await umount2(mountPoint, UMOUNT_NOFOLLOW);
    if (result < 0 && !isAbsent(result)) result = await umount2(mountPoint, UMOUNT_NOFOLLOW | MNT_DETACH);
    if (isAbsent(result)) return;
    if (result < 0) throw failure(`unmount ${mountPoint}`, result);
  }
}

const isAbsent = (result: number) => result === -constants.errno.EINVAL || result === -constants.errno.ENOENT;

const failure = (attempt: string, result: number): Error & { code: string } =>
  Object.assign(new Error(`could not ${attempt}: ${getSystemErrorMessage(result)}`), { code: getSystemErrorName(result) });

type Argument = string | number | Buffer | null;
// Resolves to the result, or to the negative error number.
type Call = (...args: Argument[]) => Promise<number>;

let loaded: Record<"mount" | "umount2" | "ioctl", Call> | undefined;

const library = () => (loaded ??= loadLibrary());

function loadLibrary(): NonNullable<typeof loaded> {
  const koffi = koffiForDisks();
  const c = koffi.load(null);
  const declare = (declaration: string): Call => {
    const call = c.func(declaration);
    return (...args) =>
      new Promise((resolve, reject) => {
        call.async(...args, (error: Error | null, result: number) => {
          if (error) reject(error);
          else resolve(result < 0 ? -koffi.errno() : result);
        });
      });
  };
  return {
    mount: declare("int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *options)"),
    umount2: declare("int umount2(const char *target, int flags)"),
    // The kernel reads the last argument as a number or an address, depending on the request.
    ioctl: declare("int ioctl(int fd, unsigned long request, void *argument)"),
  };
}

function koffiForDisks(): Koffi {
  try {
    return loadKoffi();
  } catch (error) {
    throw new Error(`disks need a native package: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
