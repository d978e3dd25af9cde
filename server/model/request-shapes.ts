import type { ScannedValue } from "./json-scanner.ts";
import type { Shape } from "./json-shape.ts";

// The parts of the two interfaces to which a request body is sent.
export type ModelApi = "chat" | "completions" | "responses" | "embeddings" | "messages";

// What the relay itself reads or changes in a request.
export type RequestPart = "root" | "model" | "stream" | "stream_options";

export interface RequestRule {
  part?: RequestPart;
  allows?: (value: ScannedValue) => boolean;
  // The sentence for the caller. `{field}` stands for the field's path.
  refusal?: string;
}

export type RequestShape = Shape<RequestRule>;

const MODEL: RequestShape = { mark: { part: "model", allows: ({ kind }) => kind === "string", refusal: "{field} must be a string" } };
const STREAM: RequestShape = {
  mark: {
    part: "stream",
    allows: ({ kind }) => kind === "true" || kind === "false" || kind === "null",
    refusal: "{field} must be true or false",
  },
};
const STREAM_OPTIONS: RequestShape = {
  mark: { part: "stream_options", allows: ({ kind }) => kind === "object" || kind === "null", refusal: "{field} must be an object" },
};

function request(fields: [string, RequestShape][]): RequestShape {
  return {
    mark: { part: "root", allows: ({ kind }) => kind === "object", refusal: "The request to the model is not a JSON object" },
    fields: new Map([["model", MODEL], ["stream", STREAM], ...fields]),
  };
}

export const REQUEST_SHAPES: Record<ModelApi, RequestShape> = {
  chat: request([["stream_options", STREAM_OPTIONS]]),
  completions: request([["stream_options", STREAM_OPTIONS]]),
  responses: request([]),
  embeddings: request([]),
  messages: request([]),
};
