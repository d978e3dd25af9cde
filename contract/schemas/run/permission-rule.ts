import Type, { type Static } from "typebox";

// Decides about an agent's question for permission (daemon/runs.ts).

const Path = Type.String({
  minLength: 1,
  maxLength: 1000,
  pattern: "^(?!/)(?!(.*/)?\\.\\.(/|$))",
  description: "A glob, relative to the workspace. `*` does not match a slash, `**` does.",
});
const Command = Type.String({
  minLength: 1,
  maxLength: 1000,
  description: "A glob. In a rule that allows, `*` matches no character that could begin another command.",
});
const allow = Type.Boolean();

// A field that does not fit the tool is refused: a restriction must not be ignored.
export const PermissionRule = Type.Union([
  Type.Object(
    { tool: Type.Enum(["read", "edit", "delete", "move", "search"]), path: Type.Optional(Path), allow },
    { additionalProperties: false },
  ),
  Type.Object({ tool: Type.Literal("shell"), command: Type.Optional(Command), allow }, { additionalProperties: false }),
  Type.Object({ tool: Type.Enum(["fetch", "other", "*"]), allow }, { additionalProperties: false }),
]);
export type PermissionRule = Static<typeof PermissionRule>;

export const PermissionRules = Type.Array(PermissionRule, { maxItems: 100 });
