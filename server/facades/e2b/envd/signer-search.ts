import { AppError, type SandboxId } from "@berth/contract";
import { SECOND, type Clock } from "../../../clock.ts";
import { createTokenBuckets } from "../../../fairness/token-bucket.ts";
import type { Access, SignedUrl } from "../access.ts";

// Finds the sandbox whose token has signed a URL that does not name it. The signature is a hash, so every running sandbox is tried.
export interface SignerSearch {
  // `caller` is the address that the request comes from.
  find(signed: SignedUrl, caller: string): Promise<SandboxId | null>;
}

export interface SignerSearchDeps {
  access: Pick<Access, "hasSigned">;
  // The sandboxes that run.
  running: () => Promise<SandboxId[]>;
  clock: Clock;
}

const FRESH_MS = 1 * SECOND;
// Forged signatures cost as much as a search, so only so many searches of one caller may fail.
const FAILURES = { capacity: 100, fillMs: 10 * SECOND };

export function createSignerSearch({ access, running, clock }: SignerSearchDeps): SignerSearch {
  const failuresOf = createTokenBuckets<string>(clock.now);
  let known: { atMs: number; ids: Promise<SandboxId[]> } | null = null;

  function candidates(): Promise<SandboxId[]> {
    if (known && clock.now() - known.atMs < FRESH_MS) return known.ids;
    const ids = running();
    known = { atMs: clock.now(), ids };
    ids.catch(() => (known = null));
    return ids;
  }

  const search = async (signed: SignedUrl) => (await candidates()).find((id) => access.hasSigned(id, signed)) ?? null;

  return {
    async find(signed, caller) {
      const bucket = failuresOf(caller, FAILURES);
      if (bucket.tokens < 1) throw new AppError("rate_limited", { retryAfterSeconds: 1 });
      const first = await search(signed);
      if (first) return first;
      bucket.tokens--;
      // The sandbox may be newer than the list.
      known = null;
      return search(signed);
    },
  };
}
