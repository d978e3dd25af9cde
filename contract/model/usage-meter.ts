import { createJsonScanner } from "./json/json-scanner.ts";
import { JsonFault, type ScannedValue } from "./json/json-value.ts";
import type { Shape } from "./json/json-shape.ts";

export type ModelProvider = "openai" | "anthropic";

export interface TokenUsage {
  input: number;
  output: number;
}

// Finds the tokens that an answer cost while its bytes are relayed. It keeps none of the answer: time is linear in the bytes and
// memory is fixed, however long a line is.
export interface UsageMeter {
  see(chunk: Buffer): void;
  // The tokens that the provider reported so far.
  reported(): Partial<TokenUsage>;
  // Whether the report is final, and not an interim one from the start of a stream.
  isFinal(): boolean;
  // An estimate of the output tokens so far, from the length of the text.
  seen(): number;
}

export interface AnswerKind {
  provider: ModelProvider;
  contentType: string;
  // Compressed, so that its content cannot be read.
  isEncoded: boolean;
}

const BYTES_PER_TOKEN = 4;

export function createUsageMeter({ provider, contentType, isEncoded }: AnswerKind): UsageMeter {
  const streamed = contentType.startsWith("text/event-stream");
  const numbers = createNumbers(provider);
  let bytes = 0;
  let textBytes = 0;
  let events = 0;
  let hasText = false;
  const scanner = createJsonScanner<AnswerMark>(ANSWER, (mark, value) => {
    if (mark !== "text") return numbers.note(mark, value);
    if (value.kind !== "string") return;
    textBytes += value.end - value.start - 2;
    if (!hasText) events++;
    hasText = true;
  });
  // The position in a line of a stream: before the JSON, in it, in a line of another kind, or in invalid JSON.
  let position: "prefix" | "json" | "other" | "broken" = streamed ? "prefix" : "json";
  let prefixLength = 0;

  return {
    see(chunk) {
      bytes += chunk.length;
      if (isEncoded) return;
      if (streamed) readLines(chunk);
      else scan(chunk);
    },
    reported() {
      if (!streamed) endDocument();
      return numbers.reported;
    },
    isFinal: () => numbers.isFinal,
    seen: () => Math.max(events, Math.ceil((streamed && !isEncoded ? textBytes : bytes) / BYTES_PER_TOKEN)),
  };

  function readLines(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (position === "prefix") {
        readPrefix(chunk[at]!);
        at++;
        continue;
      }
      const newline = chunk.indexOf(0x0a, at);
      const end = newline < 0 ? chunk.length : newline;
      if (position === "json") scan(chunk.subarray(at, end));
      else if (position === "broken") textBytes += end - at;
      if (newline >= 0) beginLine();
      at = end + 1;
    }
  }

  function readPrefix(byte: number): void {
    if (byte === 0x0a) prefixLength = 0;
    else if (byte !== DATA[prefixLength]) position = "other";
    else if (++prefixLength === DATA.length) position = "json";
  }

  function beginLine(): void {
    endDocument();
    position = "prefix";
    prefixLength = 0;
    hasText = false;
    scanner.reset();
    numbers.forget();
  }

  function scan(part: Buffer): void {
    if (position !== "json") return;
    try {
      scanner.write(part);
    } catch (error) {
      if (!(error instanceof JsonFault)) throw error;
      position = "broken";
    }
  }

  function endDocument(): void {
    if (position !== "json") return;
    position = "other";
    try {
      scanner.end();
      numbers.accept();
    } catch (error) {
      // A truncated document reports nothing.
      if (!(error instanceof JsonFault)) throw error;
    }
  }
}

const DATA = Buffer.from("data:");

type NumberMark = "input" | "output" | "cached" | "end";
type AnswerMark = NumberMark | "text";
type AnswerShape = Shape<AnswerMark>;

const marked = (name: AnswerMark): AnswerShape => ({ mark: name });
const fields = (entries: Record<string, AnswerShape>): AnswerShape => ({ fields: new Map(Object.entries(entries)) });

const USAGE = {
  prompt_tokens: marked("input"),
  input_tokens: marked("input"),
  cache_creation_input_tokens: marked("cached"),
  cache_read_input_tokens: marked("cached"),
  completion_tokens: marked("output"),
  output_tokens: marked("output"),
};
const FINAL_USAGE: AnswerShape = { ...fields(USAGE), mark: "end" };

// The output of the model, at any depth: text, reasoning, arguments of tool calls.
const TEXT: AnswerShape = { mark: "text", fields: new Map(["role", "type", "id", "name"].map((name) => [name, {}])) };
TEXT.otherFields = TEXT;
TEXT.items = TEXT;

const ANSWER = fields({
  usage: FINAL_USAGE,
  // OpenAI's responses API wraps usage in `response`, Anthropic's first event in `message`.
  response: fields({ usage: FINAL_USAGE }),
  message: fields({ usage: fields(USAGE) }),
  // A chunk of a stream: `delta` of OpenAI's responses and of Anthropic, `choices` of OpenAI's chat and completions.
  delta: TEXT,
  choices: { items: fields({ delta: TEXT, text: marked("text") }) },
});

// The numbers in the current document, and the report so far.
function createNumbers(provider: ModelProvider) {
  const reported: Partial<TokenUsage> = {};
  let isFinal = false;
  let found: Partial<Record<NumberMark, number>> = {};
  return {
    reported,
    get isFinal() {
      return isFinal;
    },
    note(name: NumberMark, { kind, text }: ScannedValue) {
      if (name === "end") {
        if (kind === "object") found.end = 1;
        return;
      }
      const value = kind === "number" && COUNT.test(text) ? Math.round(Number(text)) : 0;
      found[name] = name === "cached" ? (found.cached ?? 0) + value : value;
    },
    accept() {
      const { input, cached = 0, output, end } = found;
      if (provider === "openai") {
        if (input !== undefined || output !== undefined) Object.assign(reported, { input: input ?? 0, output: output ?? 0 });
      } else {
        // The first event reports the input, later events the output so far.
        if ((input ?? 0) + cached > 0) reported.input = (input ?? 0) + cached;
        if (output !== undefined) reported.output = output;
      }
      if (end !== undefined && (input !== undefined || output !== undefined)) isFinal = true;
    },
    forget: () => void (found = {}),
  };
}

const COUNT = /^\d{1,15}(\.\d+)?$/;
