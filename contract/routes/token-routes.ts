import {
  CreateSessionToken,
  IssuePreviewUrl,
  PreviewUrl,
  SessionToken,
  SessionTokenList,
  SessionTokenWithSecret,
} from "../schemas/session-token.ts";
import { route } from "./route.ts";

const TOKENS = "/api/b2b/sessions/{id}/tokens";

export const TOKEN_ROUTES = {
  createSessionToken: route({
    method: "POST",
    path: TOKENS,
    tag: "Session tokens",
    summary: "Create a session token",
    description:
      "Creates a token that opens one session, and in it only what its scopes name. Give it to a program or a person who must not have your key: it is a Bearer for `sandboxUrl`, previews, and the doors below them. It ends with the session. A session has at most 100 active tokens. The response is the only one that contains the token itself.",
    body: { schema: CreateSessionToken, required: true },
    idempotent: true,
    success: { status: 201, description: "The new token.", schema: SessionTokenWithSecret },
    errors: ["validation_failed", "session_not_found", "token_quota", "body_too_large", "unsupported_media_type"],
  }),
  listSessionTokens: route({
    method: "GET",
    path: TOKENS,
    tag: "Session tokens",
    summary: "List session tokens",
    description:
      "Returns the tokens of a session without their secret part, oldest first: all active ones, and the last 100 that have expired or were revoked.",
    success: { status: 200, description: "The tokens.", schema: SessionTokenList },
    errors: ["session_not_found"],
  }),
  revokeSessionToken: route({
    method: "DELETE",
    path: `${TOKENS}/{tokenId}`,
    tag: "Session tokens",
    summary: "Revoke a session token",
    description:
      "Revokes a token within 5 seconds, and ends the connections that it has opened. Revoking a revoked token changes nothing. A request body is ignored.",
    success: { status: 200, description: "The revoked token.", schema: SessionToken },
    errors: ["session_not_found", "token_not_found", "body_too_large"],
  }),
  issuePreviewUrl: route({
    method: "POST",
    path: "/api/b2b/sessions/{id}/preview-url",
    tag: "Session tokens",
    summary: "Issue a preview URL",
    description:
      "Issues a signed URL that opens a web server in the sandbox, on one port and nothing else. A browser exchanges it for a cookie. It cannot be revoked before it expires, and it does not resume a paused session.",
    body: { schema: IssuePreviewUrl, required: true },
    idempotent: true,
    success: { status: 200, description: "The URL and its expiry.", schema: PreviewUrl },
    errors: ["validation_failed", "session_not_found", "not_found", "session_elsewhere", "body_too_large", "unsupported_media_type"],
  }),
} as const;
