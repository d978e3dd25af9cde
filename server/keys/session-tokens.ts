import type { KeyObject } from "node:crypto";
import { AppError, MAX_ACTIVE_TOKENS, newId, type CreateSessionToken, type SessionId, type TokenId } from "@berth/contract";
import type { Clock } from "../clock.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { isSameSignature, signLines } from "../secrets/signature.ts";
import type { SessionAccess } from "../session-access.ts";
import type { Store } from "../store/open.ts";
import { lockPartner, type Partner } from "../store/partners/partners.ts";
import type { Db } from "../store/schema.ts";
import {
  deleteTokens,
  findTokenHolder,
  insertToken,
  setTokenRevoked,
  tokensOf,
  type StoredToken,
} from "../store/session-tokens/session-tokens.ts";
import { createCredentialCache } from "./credential-cache.ts";
import { accessOf } from "./token-access.ts";

// The tokens with which others than the partner's backend use one session. A token is its id with a signature, so a forged one is
// refused without a query. Everything else about it is in its row.
export interface SessionTokens {
  create(session: TokenSession, request: CreateSessionToken, record: RecordToken<IssuedToken>): Promise<IssuedToken>;
  list(sessionId: SessionId): Promise<Token[]>;
  // Takes effect here at once, and on other servers within 5 s. Idempotent; `record` runs only if it changes something.
  revoke(session: TokenSession, tokenId: string, record: RecordToken<Token>): Promise<Token>;
  // null: the token is forged, expired, revoked or deleted, its session is destroyed, or its partner is suspended. Returns a promise
  // only if the database has to be asked.
  authenticate(token: string): TokenAccess | null | Promise<TokenAccess | null>;
  // Makes a change by this server apply at once (see credential-cache.ts).
  forget(): void;
}

export type TokenAccess = SessionAccess & { partner: Partner };

export interface TokenSession {
  id: SessionId;
  partnerId: string;
}

export interface Token extends StoredToken {
  state: "active" | "expired" | "revoked";
}

export interface IssuedToken extends Token {
  token: string;
}

// Runs in the transaction of the change.
export type RecordToken<Changed> = (tx: Db, changed: Changed) => Promise<void>;

export interface SessionTokensDeps {
  store: Store;
  secrets: Pick<Secrets, "derive">;
  clock: Clock;
}

// How many tokens that no longer work stay in the list of a session.
const MAX_ENDED_TOKENS = 100;
const TOKEN = /^berth_st_([0-9a-hjkmnp-tv-z]{26})_([A-Za-z0-9_-]{43})$/;

// Only tells a token from a key. Whether it is a good one is another question.
export const isSessionToken = (bearer: string): boolean => bearer.startsWith("berth_st_");

export function createSessionTokens({ store, secrets, clock }: SessionTokensDeps): SessionTokens {
  const signingKeys = secrets.derive("session-token-v1");
  const holders = createCredentialCache({
    store,
    clock,
    async read(id) {
      const holder = await findTokenHolder(store.db, id);
      return holder && holder.revokedAt === null && holder.partner.state === "active"
        ? { expiresAt: holder.expiresAt, access: { ...accessOf(holder), partner: holder.partner } }
        : null;
    },
  });

  // Changes of one partner's tokens run one after the other, so that each sees the others when it counts.
  async function change<Changed>(session: TokenSession, work: (tx: Db, tokens: Token[]) => Promise<Changed>): Promise<Changed> {
    const changed = await store.transaction(async (tx) => {
      await lockPartner(tx, session.partnerId);
      return work(tx, await read(tx, session.id));
    });
    holders.forget();
    return changed;
  }

  const read = async (db: Db, sessionId: SessionId): Promise<Token[]> => {
    const nowMs = clock.now();
    return (await tokensOf(db, sessionId)).map((token) => withState(token, nowMs));
  };

  return {
    create: (session, { scopes, ports, ttlMs, name = "" }, record) =>
      change(session, async (tx, tokens) => {
        if (tokens.filter(({ state }) => state === "active").length >= MAX_ACTIVE_TOKENS) throw new AppError("token_quota");
        const ended = tokens.filter(({ state }) => state !== "active");
        await deleteTokens(
          tx,
          ended.slice(0, -MAX_ENDED_TOKENS).map(({ id }) => id),
        );
        const nowMs = clock.now();
        const stored: StoredToken = {
          id: newId("tok", nowMs),
          partnerId: session.partnerId,
          sessionId: session.id,
          name,
          scopes,
          ports: ports ?? null,
          createdAt: nowMs,
          expiresAt: nowMs + ttlMs,
          revokedAt: null,
        };
        await insertToken(tx, stored);
        const issued: IssuedToken = { ...stored, state: "active", token: textOf(stored.id, signingKeys[0]!) };
        await record(tx, issued);
        return issued;
      }),

    forget: holders.forget,

    list: (sessionId) => read(store.db, sessionId),

    revoke: (session, tokenId, record) =>
      change(session, async (tx, tokens) => {
        const token = tokens.find(({ id }) => id === tokenId);
        if (!token) throw new AppError("token_not_found");
        if (token.state === "revoked") return token;
        const revoked: Token = { ...token, revokedAt: clock.now(), state: "revoked" };
        await setTokenRevoked(tx, token.id, revoked.revokedAt!);
        await record(tx, revoked);
        return revoked;
      }),

    authenticate(token) {
      const [, id, signature] = TOKEN.exec(token) ?? [];
      if (id === undefined || signature === undefined) return null;
      const isSigned = signingKeys.filter((key) => isSameSignature(signature, sign(`tok_${id}`, key))).length > 0;
      if (!isSigned) return null;
      const found = holders.find(`tok_${id}`);
      const use = (held: Held | null) => (held && clock.now() < held.expiresAt ? held.access : null);
      return found instanceof Promise ? found.then(use) : use(found);
    },
  };
}

interface Held {
  expiresAt: number;
  access: TokenAccess;
}

const textOf = (id: TokenId, key: KeyObject): string => `berth_st_${id.slice("tok_".length)}_${sign(id, key)}`;

const sign = (id: TokenId, key: KeyObject): string => signLines(key, ["v1", "session token", id]);

function withState(stored: StoredToken, nowMs: number): Token {
  return { ...stored, state: stored.revokedAt !== null ? "revoked" : stored.expiresAt <= nowMs ? "expired" : "active" };
}
