import { AppError } from "@berth/contract";
import type { AuthenticateSession } from "../../session-access.ts";
import { headerOf } from "../requests/request-parts.ts";
import type { GuestDecision, PreviewGuests } from "./preview-guests.ts";

// For programs that send something else as Authorization to the web server in the sandbox.
const TOKEN_HEADER = "x-berth-session-token";

// A program with a session token uses previews without a cookie.
export const createTokenGuests = (authenticate: AuthenticateSession): PreviewGuests => ({
  async admit(request, { port }, cached) {
    const own = headerOf(request, TOKEN_HEADER);
    const bearer = BEARER_TOKEN.exec(request.headers.authorization ?? "")?.[1];
    const token = own ?? bearer;
    if (token === undefined) return null;
    const isToken = token.startsWith("berth_st_") && (bearer === undefined || bearer === token);
    const access = isToken ? await authenticate(token) : null;
    if (!access) return refuse("unauthorized");
    if (!access.allows("ports", port)) return refuse("insufficient_scope");
    if (!cached || !access.opens(cached.session)) return refuse("session_not_found");
    return { admitted: true };
  },
});

// Asks one after the other, until one has decided.
export const joinGuests = (guests: readonly PreviewGuests[]): PreviewGuests => ({
  async admit(...asked) {
    for (const guest of guests) {
      const decision = await guest.admit(...asked);
      if (decision) return decision;
    }
    return null;
  },
});

// Removes the credentials of Berth from the headers for the web server in the sandbox, which must not learn them. Also a partner's key,
// which opens no preview but may be sent by mistake.
export function withoutCredentials(headers: Record<string, string>): Record<string, string> {
  const isOurs = (name: string, value: string) =>
    name === TOKEN_HEADER || (name === "authorization" && BEARER_OURS.test(value)) || (name === "x-api-key" && OURS.test(value));
  return Object.fromEntries(Object.entries(headers).filter(([name, value]) => !isOurs(name, value)));
}

const BEARER_TOKEN = /^bearer[ \t]+(berth_st_\S*)[ \t]*$/i;
const BEARER_OURS = /^bearer[ \t]+berth_/i;
const OURS = /(?:^|,)[ \t]*berth_/i;

const refuse = (code: "unauthorized" | "insufficient_scope" | "session_not_found"): GuestDecision => ({
  admitted: false,
  error: new AppError(code),
});
