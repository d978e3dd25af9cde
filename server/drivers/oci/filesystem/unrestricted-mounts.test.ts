import { expect, test } from "vitest";
import { findUnrestrictedMounts } from "./unrestricted-mounts.ts";

const line = (point: string, options: string) => `36 35 98:0 / ${point} ${options} - ext4 /dev/vda rw`;

test("a mount that sandboxes share must be read-only, nosuid and nodev", () => {
  const mounts = [
    line("/", "ro,relatime"),
    line("/usr", "ro,nosuid,nodev,relatime"),
    line("/usr/local", "rw,nosuid,nodev"),
    line("/opt/berth", "ro,nosuid"),
    line("/run/berth-egress", "ro,nodev"),
  ];
  expect(findUnrestrictedMounts(mounts.join("\n"))).toEqual(["/usr/local", "/opt/berth", "/run/berth-egress"]);
  expect(findUnrestrictedMounts(line("/", "rw"))).toEqual(["/"]);
});

test("a mount that belongs to the sandbox may be writable", () => {
  const own = ["/proc", "/dev", "/dev/pts", "/dev/null", "/tmp", "/run/berth", "/workspace", "/home/user"];
  expect(findUnrestrictedMounts(own.map((point) => line(point, "rw")).join("\n"))).toEqual([]);
});
