import Type, { type Static } from "typebox";

// API keys, as a partner manages its own.

// Each scope includes the ones before it.
export const KEY_SCOPES = ["read", "sessions", "admin"] as const;

export const KeyScope = Type.Enum([...KEY_SCOPES], {
  description:
    "The calls that the key may make: `read` reads sessions, events, webhooks and usage; `sessions` also creates, changes and opens sessions and uses their sandboxes; `admin` also manages webhooks and keys.",
});
export type KeyScope = Static<typeof KeyScope>;

const Name = Type.String({ maxLength: 100, pattern: "^[^\\u0000]*$", description: "A name for your own use." });
const Time = Type.String({ format: "date-time" });
const TimeOrNull = (description: string) => Type.Union([Time, Type.Null()], { description });
const Secret = Type.String({ description: "The key itself. This response is the only one that contains it." });

export const CreateKey = Type.Object(
  {
    name: Type.Optional(Name),
    scope: Type.Optional({ ...KeyScope, default: "admin" }),
    expiresAt: Type.Optional(TimeOrNull("When the key stops working, in UTC; null for never, the default.")),
  },
  { $id: "CreateKey" },
);
export type CreateKey = Static<typeof CreateKey>;

export const RotateKey = Type.Object(
  {
    overlapMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 30 * 24 * 3_600_000,
        default: 24 * 3_600_000,
        description: "How long the old key keeps working; 0 to revoke it at once.",
      }),
    ),
    expiresAt: Type.Optional(
      TimeOrNull(
        "When the new key stops working, in UTC; null for never. By default it lasts as long as the old one was to last when it was issued.",
      ),
    ),
  },
  { $id: "RotateKey" },
);
export type RotateKey = Static<typeof RotateKey>;

const key = {
  id: Type.String({ description: "The identifier of the key." }),
  name: Name,
  scope: KeyScope,
  hint: Type.String({ description: "The first and last characters of the key." }),
  state: Type.Enum(["active", "expired", "revoked"], { description: "Whether the key works." }),
  createdAt: Type.String({ format: "date-time", description: "The creation time, in UTC." }),
  lastUsedAt: TimeOrNull("When the key was last used, to the minute, in UTC; null for never."),
  expiresAt: TimeOrNull("When the key stops working, in UTC; null for never."),
  revokedAt: TimeOrNull("When the key was revoked, in UTC; null if it was not."),
};

export const Key = Type.Object(key, { $id: "Key" });
export type Key = Static<typeof Key>;

export const KeyWithSecret = Type.Object({ ...key, key: Secret }, { $id: "KeyWithSecret" });
export type KeyWithSecret = Static<typeof KeyWithSecret>;

export const KeyList = Type.Object({ data: Type.Array(Key, { description: "The keys, oldest first." }) }, { $id: "KeyList" });
export type KeyList = Static<typeof KeyList>;

export const RotatedKey = Type.Object(
  {
    ...key,
    key: Secret,
    previousKeyExpiresAt: Type.String({ format: "date-time", description: "When the old key stops working, in UTC." }),
  },
  { $id: "RotatedKey" },
);
export type RotatedKey = Static<typeof RotatedKey>;
