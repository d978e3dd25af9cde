import Type, { type TProperties } from "typebox";
import { describe, nullable } from "../describe.ts";

// The items of a conversation, for the API's description. The types are in agent.ts and questions.ts; sandbox.test.ts compares the two.

const text = (description: string) => Type.String(describe(description));
const optional = (description: string) => Type.Optional(text(description));

const item = <K extends string, P extends TProperties>(kind: K, description: string, properties: P) =>
  Type.Object(
    {
      id: text("Unique in the conversation."),
      atMs: Type.Number(describe("When it was added, as a Unix timestamp in milliseconds.")),
      kind: Type.Literal(kind),
      ...properties,
    },
    { description },
  );

const Checkpoint = Type.Object(
  {
    id: nullable(Type.String(), "null if they could not be copied."),
    note: optional("Why not, or which files it leaves out. For people."),
  },
  { description: "The files of the workspace at one moment." },
);

export const ContextPart = Type.Object({
  path: Type.String(),
  selection: Type.Optional(Type.Object({ fromLine: Type.Number(), toLine: Type.Number(), text: Type.String() })),
});

const Hunk = Type.Object(
  {
    lines: Type.Array(Type.Object({ kind: Type.Enum(["added", "removed", "same"]), text: Type.String() })),
    hiddenLines: Type.Optional(Type.Number(describe("How many further lines it has, which are too many to send."))),
    decision: Type.Optional(Type.Enum(["accepted", "rejected"], describe("The decision of a person."))),
  },
  { $id: "AgentHunk", description: "Changes close to each other, with a few lines of context." },
);

const FileChange = Type.Object(
  {
    path: text("Relative to the workspace."),
    kind: Type.Enum(["added", "modified", "deleted"]),
    linesAdded: Type.Optional(Type.Number(describe("Only of texts."))),
    linesRemoved: Type.Optional(Type.Number(describe("Only of texts."))),
    note: optional("A change that lines cannot show, for people."),
    saved: Type.Optional(Type.Literal(true, describe("A person saved the file during the turn, so a part of the change may be theirs."))),
    hunks: Type.Array(Hunk, describe("Empty if the file is too large.")),
  },
  { $id: "AgentFileChange" },
);

const ToolContent = Type.Union([
  Type.Object({ type: Type.Literal("text"), text: text("Markdown or plain output, at most 64 KiB.") }),
  Type.Object({ type: Type.Literal("diff"), path: Type.String(), hunks: Type.Array(Hunk) }, describe("An edit, before it is made.")),
]);

const Choice = Type.Object({ id: Type.String(), name: Type.String(), description: Type.Optional(Type.String()) });
const field = { id: Type.String(), label: Type.String(), description: Type.Optional(Type.String()), required: Type.Boolean() };
const number = Type.Optional(Type.Number());

export const FormField = Type.Union(
  [
    Type.Object({
      ...field,
      type: Type.Literal("text"),
      minLength: number,
      maxLength: number,
      pattern: optional("A regular expression."),
      format: Type.Optional(Type.Enum(["email", "uri", "date", "date-time"])),
      default: Type.Optional(Type.String()),
    }),
    Type.Object({ ...field, type: Type.Enum(["number", "integer"]), minimum: number, maximum: number, default: number }),
    Type.Object({ ...field, type: Type.Literal("boolean"), default: Type.Optional(Type.Boolean()) }),
    Type.Object({ ...field, type: Type.Literal("choice"), choices: Type.Array(Choice), default: Type.Optional(Type.String()) }),
    Type.Object({
      ...field,
      type: Type.Literal("choices"),
      choices: Type.Array(Choice),
      minItems: number,
      maxItems: number,
      default: Type.Optional(Type.Array(Type.String())),
    }),
  ],
  { $id: "FormField", description: "A field of a form that the agent asks a person to fill in." },
);

export const FormValues = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Array(Type.String())]),
  describe("The values of a form by the `id` of its `fields`."),
);

export const PermissionOption = Type.Object({
  id: Type.String(),
  name: text("For people."),
  kind: Type.Enum(["allow_once", "allow_always", "reject_once", "reject_always"]),
});

const outcome = <T extends string>(type: T) => Type.Object({ type: Type.Literal(type) });

export const ConversationItem = Type.Union(
  [
    item("user", "A prompt.", {
      text: Type.String(),
      context: Type.Optional(Type.Array(ContextPart)),
      images: Type.Optional(Type.Array(Type.String())),
      checkpoint: Type.Optional(Checkpoint),
    }),
    item("assistant", "The agent's words, in Markdown.", { text: Type.String() }),
    item("thought", "What the agent thinks, in Markdown.", { text: Type.String() }),
    item("tool", "A tool that the agent uses.", {
      title: Type.String(),
      toolKind: Type.Enum(["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]),
      status: Type.Enum(["pending", "running", "completed", "failed"]),
      locations: Type.Array(Type.Object({ path: Type.String(), line: number }), describe("The files that it works on.")),
      content: Type.Array(ToolContent),
      input: optional("Its input as JSON, at most 16 KiB."),
    }),
    item("changes", "The files that changed during a turn.", {
      before: text("The checkpoint before the turn."),
      after: nullable(Type.String(), "The checkpoint after it; null during the turn."),
      files: Type.Array(FileChange),
      note: optional("About files that are not listed, and others who may have changed files. For people."),
    }),
    item("plan", "The agent's plan for the turn.", {
      entries: Type.Array(
        Type.Object({
          text: Type.String(),
          status: Type.Enum(["pending", "in_progress", "completed"]),
          priority: Type.Enum(["high", "medium", "low"]),
        }),
      ),
    }),
    item("permission", "The agent asks for permission.", {
      toolItemId: text("The item of the tool that needs it."),
      title: Type.String(),
      options: Type.Array(PermissionOption),
      byRule: Type.Optional(Type.Literal(true, describe("A rule has answered."))),
      outcome: nullable(
        Type.Union([Type.Object({ type: Type.Literal("selected"), optionId: Type.String() }), outcome("cancelled")]),
        "null while it waits.",
      ),
    }),
    item("form", "The agent asks a person to fill in a form.", {
      title: Type.String(),
      fields: Type.Array(FormField),
      outcome: nullable(
        Type.Union([Type.Object({ type: Type.Literal("accepted"), values: FormValues }), outcome("declined"), outcome("cancelled")]),
        "null while it waits.",
      ),
    }),
    item("url", "The agent asks a person to open an address.", {
      title: Type.String(),
      url: Type.String(),
      outcome: nullable(
        Type.Union([outcome("accepted"), outcome("completed"), outcome("declined"), outcome("cancelled")]),
        "null while it waits. `completed`: the agent reports that the person has finished there.",
      ),
    }),
    item("notice", "A message from the sandbox or the agent.", {
      level: Type.Enum(["info", "warning", "error"]),
      text: Type.String(),
      code: optional("Of an error: one of docs/errors.md."),
      detail: optional("Markdown."),
    }),
    item("restore", "A person has restored a checkpoint.", { text: Type.String(), checkpoint: Checkpoint }),
  ],
  { $id: "ConversationItem", description: "`kind` decides about the other fields. Ignore kinds that you do not know." },
);
