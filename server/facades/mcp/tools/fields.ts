import Type from "typebox";

// Fields of the input of several tools.

export const sessionId = Type.String({
  minLength: 1,
  maxLength: 100,
  description: "The session, as session_create and session_list return it.",
});

export const path = Type.String({
  minLength: 1,
  maxLength: 4096,
  pattern: "^[^\\u0000]*$",
  description: "A path relative to the workspace folder, or an absolute one in the sandbox.",
});

export const idempotencyKey = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 255,
    description: "A call that is repeated with the same key and the same arguments within a day returns the first result and does nothing.",
  }),
);

export const waitMs = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 50_000, default: 0, description }));
