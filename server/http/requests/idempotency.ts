import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "@berth/contract";
import { HOUR, SECOND, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import { claimKey, releaseKey, releaseKeysOf, renewKey, storeResponse, type Claim } from "../../store/idempotency.ts";
import type { Store } from "../../store/open.ts";
import type { Db } from "../../store/schema.ts";

// A POST with an Idempotency-Key runs once; a retry gets the stored reply of the first request. Failures are not stored.
export interface Idempotency {
  // Runs `work` and sends its result, or sends the stored result of an earlier request. `save` stores the result in the
  // transaction of the work; it throws if another request has taken over the key, which rolls the work back.
  runOnce: (request: FastifyRequest, reply: FastifyReply, work: (save?: Save) => Promise<Result>) => Promise<FastifyReply>;
  // The same for a part of a request that creates several things. If the request is repeated after a crash, parts that were done are
  // not done again.
  runPart: (request: FastifyRequest, part: number, work: (save?: Save) => Promise<Result>) => Promise<Result>;
  // The same for a call that is not a request of its own. It has its key and what it asks for in its arguments.
  runCall: (request: FastifyRequest, call: NamedCall, work: (save?: Save) => Promise<Result>) => Promise<Result>;
}

export interface NamedCall {
  // Keys of calls with other names are other keys.
  name: string;
  key: string | undefined;
  // The call as text: another text with the same key is refused.
  text: string;
}

export interface Result {
  status: number;
  body: object;
  // When the stored result stops being useful; 24 hours from now if absent.
  staleAt?: number;
}
export type Save = (tx: Db, result: Result) => Promise<void>;

export interface IdempotencyDeps {
  store: Store;
  secrets: Pick<Secrets, "seal" | "open">;
  clock: Clock;
  log: Log;
  // Identifies this server across restarts; no two servers share it.
  host: string;
}

const KEPT_MS = 24 * HOUR;
const LEASE_MS = 15 * SECOND;
const RELEASE_RETRY_MS = 500;
const MAX_KEY_LENGTH = 255;

export async function openIdempotency({ store, secrets, clock, log, host }: IdempotencyDeps): Promise<Idempotency> {
  // Release keys that this server held when it died, so that retries need not wait for their leases.
  await releaseKeysOf(store.db, host);

  // The failure of a request is answered at once. A key that cannot be released now is released when the store is back, or its lease
  // expires on its own.
  async function release(claim: Claim): Promise<void> {
    const attempt = () =>
      releaseKey(store.db, claim).then(
        () => true,
        () => false,
      );
    if (!(await attempt())) void retry(attempt);
  }

  async function retry(attempt: () => Promise<boolean>): Promise<void> {
    for (const endMs = performance.now() + LEASE_MS; performance.now() < endMs;) {
      await sleep(RELEASE_RETRY_MS, undefined, { ref: false });
      if (await attempt()) return;
    }
  }

  async function perform(claim: Claim, work: (save: Save) => Promise<Result>): Promise<Performed> {
    const context = `idempotency:${claim.partnerId}:${claim.scope}`;
    // A power cut that loses this claim also ends the request.
    const claiming = store.transaction((tx) => claimKey(tx, claim, clock.now(), clock.now() + LEASE_MS, clock.now() + KEPT_MS), {
      sync: "later",
    });
    const found = await claiming.catch(async (error: unknown) => {
      // The commit may have succeeded, and only its result been lost.
      await release(claim);
      throw error;
    });
    if (found.is === "mismatch") throw new AppError("idempotency_mismatch");
    if (found.is === "in_flight") throw new AppError("idempotency_in_flight", { retryAfterSeconds: 1 });
    if (found.is === "done") {
      // The first request may still wait for this.
      await store.sync();
      return { status: found.status, text: secrets.open(found.body, context), isReplayed: true };
    }

    let saved = false;
    const save: Save = async (tx, { status, body, staleAt }) => {
      const stored = { status, body: secrets.seal(JSON.stringify(body), context), ...(staleAt !== undefined && { expiresAt: staleAt }) };
      if (!(await storeResponse(tx, claim, stored))) throw new AppError("idempotency_in_flight", { retryAfterSeconds: 1 });
      saved = true;
    };
    const renewals = clock.every(LEASE_MS / 3, () =>
      renewKey(store.db, claim, clock.now() + LEASE_MS).catch((error: unknown) =>
        log.warn("idempotency.not_renewed", { error: String(error) }),
      ),
    );
    try {
      const result = await work(save);
      if (!saved) await save(store.db, result);
      return { status: result.status, text: JSON.stringify(result.body), isReplayed: false };
    } catch (error) {
      await release(claim);
      throw error;
    } finally {
      await renewals[Symbol.asyncDispose]();
    }
  }

  return {
    async runOnce(request, reply, work) {
      const key = keyOf(request);
      if (key === null) {
        const { status, body } = await work();
        return reply.code(status).send(body);
      }
      const { status, text, isReplayed } = await perform(claimOf(request, [key], host), work);
      if (isReplayed) reply.header("idempotent-replayed", "true");
      return sendText(reply, status, text);
    },
    async runPart(request, part, work) {
      const key = keyOf(request);
      if (key === null) return work();
      return parse(await perform(claimOf(request, [key, `part ${part}`], host), work));
    },
    async runCall(request, { name, key, text }, work) {
      if (key === undefined) return work();
      const claim = claimOf(request, [name, key], host);
      return parse(await perform({ ...claim, fingerprint: digest(text) }, work));
    },
  };
}

interface Performed {
  status: number;
  text: string;
  isReplayed: boolean;
}

const parse = ({ status, text }: Performed): Result => ({ status, body: JSON.parse(text) as object });

function keyOf(request: FastifyRequest): string | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key === "string" && key.length > 0 && key.length <= MAX_KEY_LENGTH) return key;
  throw new AppError("validation_failed", { details: [{ field: "Idempotency-Key", message: "Must have 1 to 255 characters" }] });
}

function claimOf(request: FastifyRequest, key: string[], host: string): Claim {
  const params = Object.values(request.params as Record<string, string>);
  return {
    partnerId: request.principal.partner.id,
    scope: digest([request.method, request.routeOptions.url ?? "", ...params, ...key].join("\n")),
    fingerprint: digest(request.rawBody ?? ""),
    owner: `${host}/${randomUUID()}`,
  };
}

const digest = (data: string | Buffer): string => createHash("sha256").update(data).digest("hex");

const sendText = (reply: FastifyReply, status: number, body: string): FastifyReply =>
  reply.code(status).type("application/json; charset=utf-8").serializer(unchanged).send(body);
const unchanged = (body: unknown): string => body as string;
