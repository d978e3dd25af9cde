// The weight of a sandbox's processes when the processors are busy, as Linux's `cpu.shares`. The server and the host's own
// programs have 1024, so that a sandbox which computes without end delays them little, and sandboxes share what is left by
// the processors of their templates. A sandbox that is alone still gets all that its quota allows. Runtimes translate the
// number for control groups of version 2, where others have 100: 128 becomes 5 or 20, depending on the runtime's version.
export const cpuShares = (cpus: number): number => Math.min(MAX_SHARES, Math.max(MIN_SHARES, Math.round(cpus * SHARES_PER_CPU)));

const SHARES_PER_CPU = 128;
// What the kernel accepts.
const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
