import Type, { type Static } from "typebox";
import { EVENT_TYPES } from "./events.ts";

// Where a partner wants events to be sent.

const Types = Type.Union([Type.Array(Type.Enum([...EVENT_TYPES]), { minItems: 1, maxItems: EVENT_TYPES.length }), Type.Null()], {
  description: "The types of events to send; null is all of them.",
});
const Url = Type.String({ minLength: 1, maxLength: 2048, format: "uri", description: "An https address on the public Internet." });
const Description = Type.String({ maxLength: 256, pattern: "^[^\\u0000]*$", description: "For your own use." });

export const CreateWebhook = Type.Object(
  { url: Url, types: Type.Optional(Types), description: Type.Optional(Description) },
  { $id: "CreateWebhook" },
);
export type CreateWebhook = Static<typeof CreateWebhook>;

export const UpdateWebhook = Type.Object(
  {
    url: Type.Optional(Url),
    types: Type.Optional(Types),
    description: Type.Optional(Description),
    enabled: Type.Optional(Type.Boolean({ description: "Enabled again, it gets what happened meanwhile." })),
  },
  { $id: "UpdateWebhook" },
);
export type UpdateWebhook = Static<typeof UpdateWebhook>;

const webhook = {
  id: Type.String(),
  url: Url,
  types: Types,
  description: Description,
  enabled: Type.Boolean(),
  disabledReason: Type.Union([Type.Enum(["api", "gone", "failing"]), Type.Null()], {
    description: "By a call, because the receiver answered 410, or after five days of nothing but failures.",
  }),
  createdAt: Type.String({ format: "date-time" }),
};

export const Webhook = Type.Object(webhook, { $id: "Webhook" });
export type Webhook = Static<typeof Webhook>;

export const WebhookWithSecret = Type.Object(
  { ...webhook, secret: Type.String({ description: "Signs what is sent. Shown this once." }) },
  { $id: "WebhookWithSecret" },
);
export type WebhookWithSecret = Static<typeof WebhookWithSecret>;

export const WebhookList = Type.Object({ data: Type.Array(Webhook) }, { $id: "WebhookList" });
export type WebhookList = Static<typeof WebhookList>;

export const RotatedSecret = Type.Object(
  {
    secret: Type.String({ description: "Signs what is sent from now on. Shown this once." }),
    previousSecretExpiresAt: Type.String({ format: "date-time", description: "Until then the old one signs too." }),
  },
  { $id: "RotatedSecret" },
);
export type RotatedSecret = Static<typeof RotatedSecret>;

export const DeletedWebhook = Type.Object({ id: Type.String(), deleted: Type.Boolean() }, { $id: "DeletedWebhook" });
export type DeletedWebhook = Static<typeof DeletedWebhook>;

export const Delivery = Type.Object(
  {
    id: Type.String(),
    eventId: Type.String(),
    type: Type.String(),
    state: Type.Enum(["pending", "delivered", "failed"]),
    attempts: Type.Integer({ minimum: 0 }),
    lastStatus: Type.Union([Type.Integer(), Type.Null()], { description: "What the receiver last answered." }),
    lastError: Type.Union([Type.String(), Type.Null()], { description: "Why the last attempt failed." }),
    createdAt: Type.String({ format: "date-time" }),
    finishedAt: Type.Union([Type.String({ format: "date-time" }), Type.Null()]),
  },
  { $id: "Delivery" },
);
export type Delivery = Static<typeof Delivery>;

export const DeliveryList = Type.Object(
  { data: Type.Array(Delivery, { description: "Newest first." }), nextCursor: Type.Union([Type.String(), Type.Null()]) },
  { $id: "DeliveryList" },
);
export type DeliveryList = Static<typeof DeliveryList>;
