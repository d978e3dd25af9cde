import { anyText, httpUrl, oneOf, wholeNumber } from "../kinds.ts";
import { variable } from "../variable.ts";

export const MODEL_VARIABLES = {
  modelProvider: variable<"anthropic" | "openai" | null>({
    name: "BERTH_MODEL_PROVIDER",
    kind: oneOf("anthropic", "openai"),
    default: null,
    defaultHelp: "no model relay",
    help: "API of the model that agents in sandboxes use through the server. Needs `BERTH_MODEL_API_KEY`.",
  }),
  modelBaseUrl: variable<string | null>({
    name: "BERTH_MODEL_BASE_URL",
    kind: httpUrl,
    default: null,
    defaultHelp: "the provider's own address",
    help: "Address of the model's API, for another service that offers the same API.",
  }),
  modelApiKey: variable<string | null>({
    name: "BERTH_MODEL_API_KEY",
    kind: anyText,
    default: null,
    defaultHelp: "none",
    secret: true,
    help: "Key for the model's API. It stays in the server and never enters a sandbox.",
  }),
  modelName: variable<string | null>({
    name: "BERTH_MODEL_NAME",
    kind: anyText,
    default: null,
    defaultHelp: "chosen by the agent",
    help: "Model that agents use. Requests for another model are changed to this one.",
  }),
  modelTokenCap: variable<number | null>({
    name: "BERTH_MODEL_TOKEN_CAP",
    kind: wholeNumber(1, 1_000_000_000_000),
    default: null,
    defaultHelp: "no limit",
    help: "Input and output tokens that one session may use in total. `0` is refused.",
  }),
  modelMaxBodyMb: variable({
    name: "BERTH_MODEL_MAX_BODY_MB",
    kind: wholeNumber(1, 64),
    default: 4,
    help: "Largest request to the model, in MiB. The server holds at most one per sandbox in memory. `0` is refused.",
  }),
  modelRatePerMinute: variable({
    name: "BERTH_MODEL_RATE_LIMIT",
    kind: wholeNumber(0, 1_000_000),
    default: 300,
    help: "Requests per minute that each sandbox may send to the model, refused requests included. `0` turns the limit off. With a limit, a sandbox may also send at most 32 times the largest body per minute.",
  }),
};
