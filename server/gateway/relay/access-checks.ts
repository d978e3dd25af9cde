import { SECOND, type Clock } from "../../clock.ts";

// Ends what was opened with access that has ended since: keys and tokens are revoked, and cookies expire.
export interface AccessChecks extends AsyncDisposable {
  // Asks every few seconds, and calls `end` once if it is no longer allowed, until disposed.
  watch(isStillAllowed: () => Promise<boolean>, end: () => void): Disposable;
}

const CHECK_MS = 5 * SECOND;

export function createAccessChecks(clock: Clock): AccessChecks {
  const watched = new Set<{ isStillAllowed: () => Promise<boolean>; end: () => void }>();
  const checks = clock.every(CHECK_MS, async () => {
    for (const one of watched) {
      // Fail open: a database outage must not disconnect people.
      const allowed = await one.isStillAllowed().catch(() => true);
      if (!allowed && watched.delete(one)) one.end();
    }
  });
  return {
    watch(isStillAllowed, end) {
      const one = { isStillAllowed, end };
      watched.add(one);
      return { [Symbol.dispose]: () => void watched.delete(one) };
    },
    async [Symbol.asyncDispose]() {
      watched.clear();
      await checks[Symbol.asyncDispose]();
    },
  };
}
