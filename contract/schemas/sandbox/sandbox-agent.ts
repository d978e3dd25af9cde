import Type from "typebox";
import { describe } from "../describe.ts";
import { ContextPart, ConversationItem, FormValues } from "./sandbox-conversation.ts";

// The bodies of the agent's API, for its description. The types are in agent.ts; sandbox.test.ts compares the two.

export const AgentState = Type.Object(
  {
    status: Type.Enum(["none", "unavailable", "unconfigured", "stopped", "starting", "ready", "failed"], {
      description:
        "`none`: the template has no agent. `unavailable`: its program is not installed. `unconfigured`: `missing` names variables to set. `failed`: `message` says why.",
    }),
    name: Type.Union([Type.String(), Type.Null()], describe("The name of the agent.")),
    missing: Type.Optional(Type.Array(Type.String(), describe("The environment variables that it needs."))),
    message: Type.Optional(Type.String(describe("More about the status, for people."))),
    acceptsImages: Type.Optional(Type.Boolean(describe("With `ready`: whether prompts can have images."))),
    signIn: Type.Optional(
      Type.Array(
        Type.Object({ id: Type.String(), name: Type.String(), description: Type.Optional(Type.String()) }),
        describe("With `unconfigured`: how a person can sign in, in a terminal."),
      ),
    ),
    mcpServers: Type.Optional(
      Type.Array(
        Type.Object({
          name: Type.String(),
          status: Type.Enum(
            ["checking", "ready", "failed"],
            describe("`ready`: it answers, or its program is there. The agent does not say whether it uses it."),
          ),
          message: Type.Optional(Type.String(describe("Why it has failed."))),
        }),
        describe("With `ready`: the MCP servers of the session."),
      ),
    ),
  },
  { $id: "AgentState" },
);

const Usage = Type.Object(
  {
    contextUsed: Type.Optional(Type.Number(describe("The tokens in the model's context."))),
    contextSize: Type.Optional(Type.Number(describe("The size of the model's context."))),
    inputTokens: Type.Optional(Type.Number(describe("The input tokens of all turns."))),
    outputTokens: Type.Optional(Type.Number(describe("The output tokens of all turns."))),
    cost: Type.Optional(Type.Object({ amount: Type.Number(), currency: Type.String() }, describe("What the conversation has cost."))),
  },
  { $id: "AgentUsage", description: "What the agent reports; fields that it does not report are absent." },
);

const Choice = Type.Object({
  current: Type.String(),
  available: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), description: Type.Optional(Type.String()) })),
});

const about = { id: Type.String(), name: Type.String(), description: Type.Optional(Type.String()) };
const Option = Type.Union([
  Type.Object({ ...about, type: Type.Literal("choice"), ...Choice.properties }),
  Type.Object({ ...about, type: Type.Literal("boolean"), current: Type.Boolean() }),
]);

const Command = Type.Object({
  name: Type.String(),
  description: Type.String(),
  hint: Type.Optional(Type.String(describe("What to write after the name."))),
});

const QueuedPrompt = Type.Object({
  id: Type.String(),
  text: Type.String(),
  context: Type.Optional(Type.Array(ContextPart)),
  images: Type.Optional(Type.Array(Type.String())),
});

const ModelWait = Type.Object({
  code: Type.String(describe("`model_slow`: no answer for two seconds. Otherwise an error, after which the agent may try again.")),
  attempt: Type.Optional(Type.Number(describe("The number of the next attempt."))),
  attempts: Type.Optional(Type.Number(describe("The last attempt, after which the turn fails."))),
});

const Rule = Type.Object(
  {
    tool: Type.Enum(["read", "edit", "delete", "move", "search", "shell", "fetch", "other", "*"]),
    path: Type.Optional(Type.String()),
    command: Type.Optional(Type.String()),
    allow: Type.Boolean(),
  },
  { description: "A rule that answers questions for permission." },
);

export const Conversation = Type.Object(
  {
    id: Type.String(describe("The identifier of the conversation.")),
    title: Type.String(describe("The first line of the first prompt, until the agent sets a title or a person renames the conversation.")),
    renamed: Type.Boolean(describe("Whether a person has chosen the title.")),
    createdAtMs: Type.Number(describe("When it was created, as a Unix timestamp in milliseconds.")),
    updatedAtMs: Type.Number(describe("When it was last used, as a Unix timestamp in milliseconds.")),
    busy: Type.Boolean(describe("Whether a turn is in progress, so that prompts are refused.")),
    usage: Type.Union([Usage, Type.Null()], describe("The tokens that it has used; null if unknown.")),
    modes: Type.Union([Choice, Type.Null()], describe("The agent's modes; null if it has none.")),
    models: Type.Union([Choice, Type.Null()], {
      description: "The models that the agent offers; null if it offers none, or if the server decides about the model.",
    }),
    options: Type.Array(Option, describe("The agent's other options, such as how long it thinks.")),
    commands: Type.Array(Command, describe("A prompt can start with `/` and the name of one of them.")),
    queue: Type.Array(QueuedPrompt, describe("Prompts from the workspace that wait for the end of the turn.")),
    modelWait: Type.Union([ModelWait, Type.Null()], describe("Why the turn in progress waits for its model; null if it does not.")),
    alwaysAllowed: Type.Array(
      Type.String(),
      describe("The actions that a person has allowed for the whole conversation, such as `running commands`."),
    ),
    rules: Type.Array(
      Rule,
      describe("The rules that decide about permissions now: those of the run that works here, then those of the template."),
    ),
  },
  { $id: "Conversation" },
);

export const ConversationList = Type.Object(
  { conversations: Type.Array(Conversation, describe("The most recently used first.")) },
  { $id: "ConversationList" },
);

export const OpenConversation = Type.Object(
  { conversation: Conversation, items: Type.Array(ConversationItem, describe("In order.")) },
  { $id: "OpenConversation" },
);

export const PromptRequest = Type.Object(
  {
    text: Type.String({ minLength: 1, maxLength: 524_288, description: "What the agent is asked to do." }),
    conversationId: Type.Optional(Type.String(describe("Default: a new conversation."))),
    permissions: Type.Optional(
      Type.Enum(["ask", "allow", "reject"], {
        default: "ask",
        description: "How to answer permission requests of this turn. With `ask` they wait for an answer.",
      }),
    ),
  },
  { $id: "PromptRequest" },
);

const conversationId = Type.String(describe("The conversation."));

export const AgentMessage = Type.Union(
  [
    Type.Object({ type: Type.Literal("conversation"), conversation: Conversation }, describe("The first message.")),
    Type.Object({ type: Type.Literal("item"), conversationId, item: ConversationItem }, describe("An item that is new or has changed.")),
    Type.Object(
      { type: Type.Literal("append"), conversationId, itemId: Type.String(), text: Type.String() },
      describe("More text for an item."),
    ),
    Type.Object(
      {
        type: Type.Literal("turn"),
        conversationId,
        stopReason: Type.Enum(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"]),
        code: Type.Optional(Type.String(describe("With `error`: one of the codes in docs/errors.md, such as `model_key_refused`."))),
        message: Type.Optional(Type.String(describe("With `error`: the problem, for people."))),
      },
      describe("The last message: the turn has ended."),
    ),
    Type.Object({ type: Type.Literal("agent"), agent: AgentState }, describe("The state of the agent has changed.")),
  ],
  { $id: "AgentMessage" },
);

const text = (description: string) => Type.String({ minLength: 1, description });

export const QuestionAnswer = Type.Object(
  {
    conversationId: text("The conversation."),
    itemId: text("The item of the kind `permission`, `form` or `url`."),
    optionId: Type.Optional(text("For a permission: one of the item's `options`.")),
    action: Type.Optional(
      Type.Enum(["accept", "decline", "cancel"], describe("For a form or an address. With `cancel` the agent goes on without an answer.")),
    ),
    values: Type.Optional(FormValues),
  },
  { $id: "QuestionAnswer" },
);

export const StoredImage = Type.Object({ id: Type.String(describe("The identifier of the image.")) }, { $id: "StoredImage" });

export const SignInRequest = Type.Object({ methodId: text("One of the state's `signIn`.") }, { $id: "SignInRequest" });

export const SignInTerminal = Type.Object(
  { terminalId: Type.String(describe("The terminal in which a person signs in.")) },
  { $id: "SignInTerminal" },
);

export const CancelRequest = Type.Object({ conversationId: text("The conversation.") }, { $id: "CancelRequest" });
