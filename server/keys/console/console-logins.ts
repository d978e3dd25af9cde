import { AppError } from "@berth/contract";
import { hashKey } from "../../api-key-format.ts";
import { HOUR, type Clock } from "../../clock.ts";
import { newToken, sha256Hex } from "../../secrets/secrets.ts";
import { deleteLogin, findLogin, insertLogin, purgeLogins, type FoundLogin, type NewLogin } from "../../store/console/console-logins.ts";
import { findIdentity, findOperatorTokenByHash, setIdentity, setOperatorTokenUsed } from "../../store/console/operator-tokens.ts";
import type { Store } from "../../store/open.ts";
import type { Authenticator } from "../authenticate.ts";
import type { Identity } from "./oidc-provider.ts";
import { issueOperatorToken } from "./operator-tokens.ts";

// The person who is signed in to the console.
export interface Viewer {
  kind: "operator" | "partner";
  // The id of the operator token or of the API key, for the audit log.
  actor: string;
  // The name of the operator token or of the partner.
  name: string;
  // The only partner whose data this person may see; null is every partner.
  partnerId: string | null;
  expiresAt: number;
}

export interface ConsoleLogins {
  // Both throw `unauthorized` for a secret that is unknown, revoked or expired.
  signInOperator(token: string): Promise<Login>;
  // Throws `insufficient_scope` unless the key has the scope admin.
  signInPartner(key: string): Promise<Login>;
  // Signs in a person that an identity provider has identified.
  signInIdentity(identity: Identity): Promise<Login>;
  // null if the cookie is unknown or has expired, or if its token or key no longer works. Reads the database each time, so that a
  // revocation applies at once.
  find(cookie: string): Promise<Viewer | null>;
  signOut(cookie: string): Promise<void>;
}

export interface Login {
  cookie: string;
  expiresAt: number;
}

export interface ConsoleLoginsDeps {
  store: Store;
  clock: Clock;
  authenticate: Authenticator["authenticate"];
  // Whether a rule for sign-ins at the identity provider still applies.
  hasRule(rule: string): boolean;
}

const LOGIN_MS = 12 * HOUR;
const PURGED_AT_ONCE = 100;

export function createConsoleLogins({ store, clock, authenticate, hasRule }: ConsoleLoginsDeps): ConsoleLogins {
  async function start(by: { tokenId: string } | { keyId: string }, untilMs = Infinity): Promise<Login> {
    const cookie = newToken();
    const createdAt = clock.now();
    const expiresAt = Math.min(createdAt + LOGIN_MS, untilMs);
    const login: NewLogin = { hash: sha256Hex(cookie), createdAt, expiresAt, ...by };
    await store.transaction(async (tx) => {
      await purgeLogins(tx, createdAt, PURGED_AT_ONCE);
      await insertLogin(tx, login);
      if ("tokenId" in by) await setOperatorTokenUsed(tx, by.tokenId, createdAt);
    });
    return { cookie, expiresAt };
  }

  // The configuration may have changed since the sign-in.
  const isStillAllowed = (login: FoundLogin) => login.kind === "partner" || login.token.oidcRule === null || hasRule(login.token.oidcRule);

  return {
    async signInOperator(token) {
      const found = await findOperatorTokenByHash(store.db, hashKey(token));
      if (!found || found.revokedAt !== null || found.expiresAt <= clock.now()) throw new AppError("unauthorized");
      return start({ tokenId: found.id }, found.expiresAt);
    },

    async signInPartner(key) {
      const found = await authenticate(key);
      if (!found) throw new AppError("unauthorized");
      if (found.scope !== "admin") throw new AppError("insufficient_scope", { message: "The console needs a key with the scope admin" });
      return start({ keyId: found.keyId });
    },

    async signInIdentity({ subject, name, rule }) {
      const expiresAt = clock.now() + LOGIN_MS;
      const tokenId = await store.transaction(async (tx) => {
        const known = await findIdentity(tx, subject);
        const { id } = known ?? (await issueOperatorToken(tx, clock, { name, expiresAt }));
        await setIdentity(tx, id, { subject, rule, name, expiresAt });
        return id;
      });
      return start({ tokenId }, expiresAt);
    },

    async find(cookie) {
      const found = await findLogin(store.db, sha256Hex(cookie));
      return found && isValid(found, clock.now()) && isStillAllowed(found) ? toViewer(found) : null;
    },

    signOut: (cookie) => deleteLogin(store.db, sha256Hex(cookie)),
  };
}

function isValid(login: FoundLogin, nowMs: number): boolean {
  const { expiresAt, revokedAt } = login.kind === "operator" ? login.token : login.key;
  if (login.expiresAt <= nowMs || revokedAt !== null || (expiresAt !== null && expiresAt <= nowMs)) return false;
  return login.kind === "operator" || (login.key.scope === "admin" && login.key.partner.state === "active");
}

function toViewer(login: FoundLogin): Viewer {
  const { expiresAt } = login;
  if (login.kind === "operator") return { kind: "operator", actor: login.token.id, name: login.token.name, partnerId: null, expiresAt };
  const { id, partner } = login.key;
  return { kind: "partner", actor: id, name: partner.name, partnerId: partner.id, expiresAt };
}
