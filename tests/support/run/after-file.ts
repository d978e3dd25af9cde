const checks = new Set<() => Promise<void>>();

// Lets leaks.ts run a check after every test file of this worker.
export const checkAfterFile = (check: () => Promise<void>): void => void checks.add(check);

export async function runChecksAfterFile(): Promise<void> {
  for (const check of checks) await check();
}
