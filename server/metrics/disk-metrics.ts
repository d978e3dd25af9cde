import { Gauge, type Registry } from "prom-client";

export interface DiskMetricsDeps {
  level(): string;
  space(): { freeBytes: number; reserveBytes: number };
}

// The disk of the data folder.
export function registerDiskMetrics(registry: Registry, { level, space }: DiskMetricsDeps): void {
  const registers = [registry];
  new Gauge({
    name: "berth_disk_free_bytes",
    help: "Free space on the disk of the data folder",
    registers,
    collect() {
      this.set(space().freeBytes);
    },
  });
  new Gauge({
    name: "berth_disk_reserve_bytes",
    help: "Free space below which nothing new is created; below half of it, sessions are paused",
    registers,
    collect() {
      this.set(space().reserveBytes);
    },
  });
  new Gauge({
    name: "berth_degraded",
    help: "1 if the server is degraded for this reason (disk_low, disk_full), otherwise 0",
    labelNames: ["reason"],
    registers,
    collect() {
      for (const one of ["low", "full"]) this.set({ reason: `disk_${one}` }, level() === one ? 1 : 0);
    },
  });
}
