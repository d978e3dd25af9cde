// The CPU time that this thread has used. It does not pass while the thread waits for a disk or for a CPU.
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
