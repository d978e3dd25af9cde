import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { CONSOLE_PATHS, type SignInFault } from "@berth/contract/console.ts";
import { MINUTE, type Clock } from "../../../clock.ts";
import type { ConsoleLogins, Login } from "../../../keys/console/console-logins.ts";
import { OidcFailure, type OidcProvider, type PendingSignIn } from "../../../keys/console/oidc-provider.ts";
import type { Log } from "../../../log.ts";
import type { Secrets } from "../../../secrets/secrets.ts";
import { cookieOf } from "./access.ts";

export interface OidcRouteDeps {
  oidc: OidcProvider | null;
  logins: Pick<ConsoleLogins, "signInIdentity">;
  secrets: Pick<Secrets, "seal" | "open">;
  clock: Clock;
  log: Log;
  baseUrl: string;
}

export interface OidcHooks {
  // Throws if the address has failed too often.
  countFailure(request: FastifyRequest): Promise<void>;
  // Sets the cookie of the login, and records it.
  onSignedIn(login: Login, request: FastifyRequest, reply: FastifyReply): Promise<void>;
}

const PENDING_MS = 10 * MINUTE;
const PENDING_CONTEXT = "console-oidc";
const HEADERS = { "cache-control": "no-store", "referrer-policy": "no-referrer" };

// Sign-in of operators at an identity provider: one page sends the browser there, and another one receives it afterwards.
export function addOidcRoutes(app: FastifyInstance, deps: OidcRouteDeps, { countFailure, onSignedIn }: OidcHooks): void {
  const { oidc, logins, secrets, clock, log, baseUrl } = deps;
  if (!oidc) return;
  const isSecure = baseUrl.startsWith("https:");
  const cookieName = `${isSecure ? "__Host-" : ""}berth-console-oidc`;
  // The browser comes back from another site, so the cookie cannot be strict.
  const setPending = (reply: FastifyReply, value: string, seconds: number) =>
    void reply.header(
      "set-cookie",
      `${cookieName}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`,
    );
  const config = { public: true } as const;

  app.get(`${CONSOLE_PATHS.operator}/oidc/login`, { config }, (request, reply) =>
    orExplain(request, reply, async () => {
      const { url, pending } = await oidc.start();
      const sealed = secrets.seal(JSON.stringify({ ...pending, startedAt: clock.now() }), PENDING_CONTEXT);
      setPending(reply, sealed, PENDING_MS / 1000);
      return redirect(reply, url);
    }),
  );

  app.get(`${CONSOLE_PATHS.operator}/oidc/callback`, { config }, (request, reply) =>
    orExplain(request, reply, async () => {
      const pending = readPending(cookieOf(request, cookieName));
      setPending(reply, "", 0);
      if (!pending) return explain(reply, "expired");
      const identity = await oidc.finish(new URL(request.url, baseUrl), pending);
      await onSignedIn(await logins.signInIdentity(identity), request, reply);
      return redirect(reply, CONSOLE_PATHS.operator);
    }),
  );

  function readPending(sealed: string | null): PendingSignIn | null {
    if (sealed === null) return null;
    try {
      const { startedAt, ...pending } = JSON.parse(secrets.open(sealed, PENDING_CONTEXT)) as PendingSignIn & { startedAt: number };
      return clock.now() - startedAt < PENDING_MS ? pending : null;
    } catch {
      // The cookie is not ours.
      return null;
    }
  }

  async function orExplain(request: FastifyRequest, reply: FastifyReply, work: () => Promise<FastifyReply>): Promise<FastifyReply> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OidcFailure)) throw error;
      await countFailure(request);
      log.warn("console.oidc_failed", { fault: error.fault, error: error.cause instanceof Error ? error.cause.message : null });
      return explain(reply, error.fault);
    }
  }

  const explain = (reply: FastifyReply, fault: SignInFault) => redirect(reply, `${CONSOLE_PATHS.operator}?sign-in=${fault}`);
  const redirect = (reply: FastifyReply, to: string) => reply.code(303).headers(HEADERS).header("location", to).send();
}
