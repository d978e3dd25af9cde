import Type, { type Static } from "typebox";
import { describe, nullable } from "../describe.ts";
import { PermissionRules } from "./permission-rule.ts";
import { ConversationItem, FormField, FormValues, PermissionOption } from "../sandbox/sandbox-conversation.ts";

// Runs: the work of a session's agent, as partners start, read and steer it. daemon/runs.ts has the same between server and daemon.

export const RUN_STATUSES = ["queued", "running", "needs_input", "succeeded", "failed", "interrupted", "lost"] as const;
export const RUN_REASONS = ["requested", "person", "timeout", "max_turns", "max_tokens", "session_ended", "error"] as const;
// Runs of one session that are not over.
export const MAX_UNFINISHED_RUNS = 100;
const MAX_PROMPT_LENGTH = 524_288;

const PLAIN = "^[^\\u0000]*$";
const short = (description: string) => Type.String({ minLength: 1, maxLength: 200, pattern: PLAIN, description });

const Prompt = Type.String({
  minLength: 1,
  maxLength: MAX_PROMPT_LENGTH,
  pattern: PLAIN,
  description: "What the agent is asked to do.",
  examples: ["Fix the failing test in src/cart.ts"],
});

const line = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }));
const Attachments = Type.Array(
  Type.Union([
    Type.Object({
      path: Type.String({ minLength: 1, maxLength: 4096, pattern: PLAIN, description: "A file, relative to the workspace folder." }),
      fromLine: line("The first line, counted from 1. Default: the whole file."),
      toLine: line("The last line."),
    }),
    Type.Object({ image: Type.String({ minLength: 1, description: "An image in base64." }) }),
  ]),
  { maxItems: 20, description: "Files, lines of files and images for the agent." },
);

const Permissions = Type.Union([Type.Enum(["ask", "allow"]), PermissionRules], {
  description:
    "How the agent's questions for permission are answered. `ask`: by a person in the workspace, or with an answer over this API. `allow`: with yes. Rules: the first one that matches decides, and the rest asks.",
});

export const StartRun = Type.Object(
  {
    prompt: Prompt,
    conversationId: Type.Optional(short("The conversation to continue. Default: a new one.")),
    attachments: Type.Optional(Attachments),
    mode: Type.Optional(short("One of the agent's modes. Default: the one in which it asks, unless `permissions` is `allow`.")),
    model: Type.Optional(short("One of the models that the agent offers.")),
    permissions: Type.Optional({ ...Permissions, default: "ask" }),
    maxTurns: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, description: "How many requests the agent may send to the server's model." }),
    ),
    maxTokens: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1e12, description: "How many tokens these may use, input and output together." }),
    ),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: 1000,
        maximum: 7 * 86_400_000,
        description: "The time for the whole run, waiting for answers included. A pause of the session does not count.",
      }),
    ),
  },
  { $id: "StartRun" },
);
export type StartRun = Static<typeof StartRun>;

export const RunMessage = Type.Object({ prompt: Prompt, attachments: Type.Optional(Attachments) }, { $id: "RunMessage" });
export type RunMessage = Static<typeof RunMessage>;

export const AnswerRun = Type.Object(
  {
    itemId: short("The `itemId` of the question in `waitsFor`."),
    optionId: Type.Optional(short("For a permission: the `id` of one of its `options`.")),
    action: Type.Optional(
      Type.Enum(["accept", "decline", "cancel"], describe("For a form or an address. With `cancel` the agent goes on without an answer.")),
    ),
    values: Type.Optional(FormValues),
  },
  { $id: "AnswerRun" },
);
export type AnswerRun = Static<typeof AnswerRun>;

const runId = Type.String({ description: "The run's identifier.", examples: ["run_01k9zq3v8h3q8t0y5a7c9ebgjm"] });
const status = Type.Enum([...RUN_STATUSES], {
  description:
    "`queued`: it waits for the setup of the session, for its conversation or for other runs. `needs_input`: it waits for an answer. `lost`: the sandbox was stopped while it worked. The last four are final.",
});

export const RunStarted = Type.Object({ runId, status }, { $id: "RunStarted" });
export type RunStarted = Static<typeof RunStarted>;

const time = (description: string) => nullable(Type.String({ format: "date-time" }), description);
const limit = (description: string) => nullable(Type.Integer(), description);

export const RunSummary = Type.Object(
  {
    runId,
    sessionId: Type.String(describe("The session that it belongs to.")),
    status,
    reason: nullable(Type.Enum([...RUN_REASONS]), "Why it was interrupted, or `error` if it has failed; otherwise null."),
    code: nullable(Type.String(), "The code of the error, if it has failed."),
    message: nullable(Type.String(), "How it ended, for people."),
    conversationId: nullable(Type.String(), "The conversation; null before it has begun in a new one."),
    prompt: Type.String(describe("The first 2,000 characters of its prompt.")),
    mode: nullable(Type.String(), "The agent's mode; null if it was not chosen."),
    model: nullable(Type.String(), "The model; null if it was not chosen."),
    maxTurns: limit("Its limit of requests to the model."),
    maxTokens: limit("Its limit of tokens."),
    timeoutMs: limit("Its limit of time."),
    turns: Type.Integer(describe("The agent's requests to the server's model so far.")),
    tokens: nullable(
      Type.Object({ input: Type.Integer(), output: Type.Integer() }),
      "The tokens that these have used; null if the agent uses another model.",
    ),
    cost: nullable(Type.Object({ amount: Type.Number(), currency: Type.String() }), "What it cost, if the agent reports that."),
    fileCount: Type.Integer(describe("How many files it has changed.")),
    waitingMessages: Type.Integer(describe("Messages that the agent does not have yet.")),
    createdAt: Type.String({ format: "date-time", description: "When it was created." }),
    startedAt: time("When the agent began; null before that."),
    endedAt: time("When it was over; null before that."),
  },
  { $id: "RunSummary" },
);
export type RunSummary = Static<typeof RunSummary>;

const RunFile = Type.Object({
  path: Type.String(describe("Relative to the workspace folder.")),
  kind: Type.Enum(["added", "modified", "deleted"]),
  linesAdded: Type.Optional(Type.Integer()),
  linesRemoved: Type.Optional(Type.Integer()),
});

const question = {
  itemId: Type.String(describe("Names the question in an answer.")),
  title: Type.String(describe("The question, for people.")),
};

const Permission = Type.Object({
  ...question,
  kind: Type.Literal("permission"),
  tool: Type.Object({
    kind: Type.String(describe("As in the rules of `permissions`.")),
    title: Type.String(describe("What the agent wants to do.")),
    input: Type.Optional(Type.String(describe("The input of the tool, as JSON."))),
  }),
  options: Type.Array(PermissionOption, describe("The possible answers.")),
});

const Form = Type.Object({
  ...question,
  kind: Type.Literal("form"),
  fields: Type.Array(FormField, describe("The fields of the form.")),
});

const Address = Type.Object({
  ...question,
  kind: Type.Literal("url"),
  url: Type.String(describe("The address that a person should open.")),
});

export const Run = Type.Object(
  {
    ...RunSummary.properties,
    permissions: Permissions,
    text: Type.String(describe("The agent's last message, at most 32 KiB.")),
    files: Type.Array(RunFile, describe("The files that it has changed, at most 200.")),
    waitsFor: Type.Array(Type.Union([Permission, Form, Address]), describe("The questions that it waits for.")),
  },
  { $id: "Run" },
);
export type Run = Static<typeof Run>;

export const RunList = Type.Object(
  {
    data: Type.Array(RunSummary, describe("The runs, newest first.")),
    nextCursor: nullable(Type.String(), "Pass it as `cursor` to get the next page; null on the last page."),
  },
  { $id: "RunList" },
);
export type RunList = Static<typeof RunList>;

const RunNow = Type.Omit(Run, ["sessionId"], { $id: "RunNow", description: "A run, as its events describe it." });
const run = { run: RunNow };

export const RunEvent = Type.Union(
  [
    Type.Object(
      { type: Type.Literal("items"), items: Type.Array(ConversationItem) },
      describe("All items of the run so far, which replace those that you have."),
    ),
    Type.Object({ type: Type.Literal("item"), item: ConversationItem }, describe("An item that is new or has changed.")),
    Type.Object({ type: Type.Literal("append"), itemId: Type.String(), text: Type.String() }, describe("More text for an item.")),
    Type.Object({ type: Type.Literal("run"), ...run }, describe("The status has changed, or the questions that the run waits for.")),
    Type.Object({ type: Type.Literal("end"), ...run }, describe("The last event.")),
  ],
  { $id: "RunEvent" },
);
