import { CreateKey, Key, KeyList, KeyWithSecret, RotatedKey, RotateKey } from "../schemas/key.ts";
import { route } from "./route.ts";

export const KEY_ROUTES = {
  createKey: route({
    method: "POST",
    path: "/api/b2b/keys",
    tag: "Keys",
    summary: "Create a key",
    description: "Creates another API key. The response is the only one that contains the key itself.",
    scope: "admin",
    idempotent: true,
    body: { schema: CreateKey, required: false },
    success: { status: 201, description: "The new key.", schema: KeyWithSecret },
    errors: ["validation_failed", "key_quota", "body_too_large", "unsupported_media_type"],
  }),
  listKeys: route({
    method: "GET",
    path: "/api/b2b/keys",
    tag: "Keys",
    summary: "List keys",
    description: "Returns all your keys without their secret part, oldest first. Includes expired and revoked ones.",
    scope: "admin",
    success: { status: 200, description: "Your keys.", schema: KeyList },
    errors: [],
  }),
  rotateKey: route({
    method: "POST",
    path: "/api/b2b/keys/{id}/rotate",
    tag: "Keys",
    summary: "Rotate a key",
    description:
      "Creates a key with the same name and scope. The old key keeps working for 24 hours, or for `overlapMs`, so that your servers can switch.",
    scope: "admin",
    idempotent: true,
    body: { schema: RotateKey, required: false },
    success: { status: 200, description: "The new key.", schema: RotatedKey },
    errors: ["validation_failed", "key_not_found", "key_inactive", "key_quota", "body_too_large", "unsupported_media_type"],
  }),
  revokeKey: route({
    method: "DELETE",
    path: "/api/b2b/keys/{id}",
    tag: "Keys",
    summary: "Revoke a key",
    description:
      "Revokes a key within 5 seconds. You cannot revoke your last active `admin` key. Revoking a revoked key changes nothing. A request body is ignored.",
    scope: "admin",
    success: { status: 200, description: "The revoked key.", schema: Key },
    errors: ["key_not_found", "last_admin_key", "body_too_large"],
  }),
} as const;
