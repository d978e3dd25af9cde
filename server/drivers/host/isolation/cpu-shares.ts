// The `cpu.shares` of a sandbox: its weight when the processors are busy. The server and the host's own programs have 1024, so a
// sandbox in an endless loop delays them little. Sandboxes divide the rest in proportion to the `cpus` of their templates. If the
// processors are idle, a sandbox can use its whole quota. For cgroup v2, where the default weight is 100, runtimes convert the
// number: 128 becomes 5 or 20, depending on the version of the runtime.
export const cpuShares = (cpus: number): number => Math.min(MAX_SHARES, Math.max(MIN_SHARES, Math.round(cpus * SHARES_PER_CPU)));

const SHARES_PER_CPU = 128;
// The range that the kernel accepts.
const MIN_SHARES = 2;
const MAX_SHARES = 262_144;

// The `cpu.weight` of a sandbox in cgroup v2, as the older runtimes convert it.
export const cpuWeight = (cpus: number): number => 1 + Math.floor(((cpuShares(cpus) - MIN_SHARES) * 9_999) / (MAX_SHARES - MIN_SHARES));

// The processor time that a sandbox may use in each period. The kernel accepts no quota below a millisecond.
export const CPU_PERIOD_US = 100_000;
export const cpuQuotaUs = (cpus: number): number => Math.max(1_000, Math.round(cpus * CPU_PERIOD_US));
