import Type, { type Static } from "typebox";
import { EVENT_TYPES } from "./events.ts";

// Webhooks: the addresses that a partner's events are sent to.

const Types = Type.Union([Type.Array(Type.Enum([...EVENT_TYPES]), { minItems: 1, maxItems: EVENT_TYPES.length }), Type.Null()], {
  description: "The event types to send; null for all types.",
});
const Url = Type.String({ minLength: 1, maxLength: 2048, format: "uri", description: "An https URL on the public Internet." });
const Description = Type.String({ maxLength: 256, pattern: "^[^\\u0000]*$", description: "A note for your own use." });

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
    enabled: Type.Optional(
      Type.Boolean({ description: "Whether events are sent. A webhook that is enabled again gets the events that it missed." }),
    ),
  },
  { $id: "UpdateWebhook" },
);
export type UpdateWebhook = Static<typeof UpdateWebhook>;

const webhook = {
  id: Type.String({ description: "The identifier of the webhook." }),
  url: Url,
  types: Types,
  description: Description,
  enabled: Type.Boolean({ description: "Whether events are sent." }),
  disabledReason: Type.Union([Type.Enum(["api", "gone", "failing"]), Type.Null()], {
    description:
      "Why the webhook is disabled: `api` by an API call, `gone` because the receiver answered 410, `failing` after five days in which every attempt failed.",
  }),
  createdAt: Type.String({ format: "date-time", description: "The creation time, in UTC." }),
};

export const Webhook = Type.Object(webhook, { $id: "Webhook" });
export type Webhook = Static<typeof Webhook>;

export const WebhookWithSecret = Type.Object(
  {
    ...webhook,
    secret: Type.String({
      description: "The secret that signs the requests to your receiver. This response is the only one that contains it.",
    }),
  },
  { $id: "WebhookWithSecret" },
);
export type WebhookWithSecret = Static<typeof WebhookWithSecret>;

export const WebhookList = Type.Object(
  { data: Type.Array(Webhook, { description: "The webhooks, oldest first." }) },
  { $id: "WebhookList" },
);
export type WebhookList = Static<typeof WebhookList>;

export const RotatedSecret = Type.Object(
  {
    secret: Type.String({ description: "The new secret. This response is the only one that contains it." }),
    previousSecretExpiresAt: Type.String({
      format: "date-time",
      description: "Until this time, requests are signed with the previous secret as well.",
    }),
  },
  { $id: "RotatedSecret" },
);
export type RotatedSecret = Static<typeof RotatedSecret>;

export const DeletedWebhook = Type.Object(
  { id: Type.String({ description: "The identifier of the webhook." }), deleted: Type.Boolean({ description: "Always true." }) },
  { $id: "DeletedWebhook" },
);
export type DeletedWebhook = Static<typeof DeletedWebhook>;

export const Delivery = Type.Object(
  {
    id: Type.String({ description: "The identifier of the delivery." }),
    eventId: Type.String({ description: "The identifier of the event." }),
    type: Type.String({ description: "The type of the event." }),
    state: Type.Enum(["pending", "delivered", "failed"], { description: "Whether the delivery is waiting, has arrived, or has failed." }),
    attempts: Type.Integer({ minimum: 0, description: "The number of attempts so far." }),
    lastStatus: Type.Union([Type.Integer(), Type.Null()], {
      description: "The HTTP status of the receiver's last response; null if there was none.",
    }),
    lastError: Type.Union([Type.String(), Type.Null()], { description: "Why the last attempt failed; null if it did not." }),
    createdAt: Type.String({ format: "date-time", description: "When the delivery was created, in UTC." }),
    finishedAt: Type.Union([Type.String({ format: "date-time" }), Type.Null()], {
      description: "When the delivery arrived or finally failed; null while it is pending.",
    }),
  },
  { $id: "Delivery" },
);
export type Delivery = Static<typeof Delivery>;

export const DeliveryList = Type.Object(
  {
    data: Type.Array(Delivery, { description: "The deliveries, newest first." }),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description: "Pass it as `cursor` to get the next page; null on the last page.",
    }),
  },
  { $id: "DeliveryList" },
);
export type DeliveryList = Static<typeof DeliveryList>;
