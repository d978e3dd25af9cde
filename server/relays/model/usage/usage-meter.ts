import { createJsonScanner, JsonFault, type ScannedValue } from "../json/json-scanner.ts";
import type { Shape } from "../json/json-shape.ts";
import type { ModelProvider } from "../provider/model-config.ts";

export interface TokenUsage {
  input: number;
  output: number;
}

// Reads along while an answer passes and finds the tokens it has cost. It keeps none of the answer: the work is linear in the
// bytes and the memory is fixed, however long a line is.
export interface UsageMeter {
  see(chunk: Buffer): void;
  // What the provider has said so far.
  reported(): Partial<TokenUsage>;
  // Whether that was its last word, and not what it says at the beginning of a stream.
  isFinal(): boolean;
  // Tokens in what has passed so far, by its length.
  seen(): number;
}

export interface AnswerKind {
  provider: ModelProvider;
  contentType: string;
  // Packed, and so not readable for us.
  encoded: boolean;
}

const BYTES_PER_TOKEN = 4;

export function createUsageMeter({ provider, contentType, encoded }: AnswerKind): UsageMeter {
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
  // Where a line of a stream is: in front of the JSON, in it, or in something that is not of interest or not JSON.
  let place: "prefix" | "json" | "other" | "broken" = streamed ? "prefix" : "json";
  let prefixLength = 0;

  return {
    see(chunk) {
      bytes += chunk.length;
      if (encoded) return;
      if (streamed) readLines(chunk);
      else scan(chunk);
    },
    reported() {
      if (!streamed) endDocument();
      return numbers.reported;
    },
    isFinal: () => numbers.isFinal,
    seen: () => Math.max(events, Math.ceil((streamed && !encoded ? textBytes : bytes) / BYTES_PER_TOKEN)),
  };

  function readLines(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (place === "prefix") {
        readPrefix(chunk[at]!);
        at++;
        continue;
      }
      const newline = chunk.indexOf(0x0a, at);
      const end = newline < 0 ? chunk.length : newline;
      if (place === "json") scan(chunk.subarray(at, end));
      else if (place === "broken") textBytes += end - at;
      if (newline >= 0) beginLine();
      at = end + 1;
    }
  }

  function readPrefix(byte: number): void {
    if (byte === 0x0a) prefixLength = 0;
    else if (byte !== DATA[prefixLength]) place = "other";
    else if (++prefixLength === DATA.length) place = "json";
  }

  function beginLine(): void {
    endDocument();
    place = "prefix";
    prefixLength = 0;
    hasText = false;
    scanner.reset();
    numbers.forget();
  }

  function scan(part: Buffer): void {
    if (place !== "json") return;
    try {
      scanner.write(part);
    } catch (error) {
      if (!(error instanceof JsonFault)) throw error;
      place = "broken";
    }
  }

  function endDocument(): void {
    if (place !== "json") return;
    place = "other";
    try {
      scanner.end();
      numbers.accept();
    } catch (error) {
      // An answer that breaks off says nothing about its end.
      if (!(error instanceof JsonFault)) throw error;
    }
  }
}

const DATA = Buffer.from("data:");

type NumberMark = "input" | "output" | "cached" | "end";
type AnswerMark = NumberMark | "text";
type AnswerShape = Shape<AnswerMark>;

const mark = (name: AnswerMark): AnswerShape => ({ mark: name });
const fields = (entries: Record<string, AnswerShape>): AnswerShape => ({ fields: new Map(Object.entries(entries)) });

const USAGE = {
  prompt_tokens: mark("input"),
  input_tokens: mark("input"),
  cache_creation_input_tokens: mark("cached"),
  cache_read_input_tokens: mark("cached"),
  completion_tokens: mark("output"),
  output_tokens: mark("output"),
};
const FINAL_USAGE: AnswerShape = { ...fields(USAGE), mark: "end" };

// What the model says, at any depth: words, thoughts, the arguments of tool calls.
const TEXT: AnswerShape = { mark: "text", fields: new Map(["role", "type", "id", "name"].map((name) => [name, {}])) };
TEXT.otherFields = TEXT;
TEXT.items = TEXT;

const ANSWER = fields({
  usage: FINAL_USAGE,
  // OpenAI's responses interface wraps it in `response`, Anthropic's first event in `message`.
  response: fields({ usage: FINAL_USAGE }),
  message: fields({ usage: fields(USAGE) }),
  // A piece of a stream: OpenAI's responses and Anthropic, OpenAI's chat, OpenAI's older completions.
  delta: TEXT,
  choices: { items: fields({ delta: TEXT, text: mark("text") }) },
});

// The numbers of the document that is being read, and those of the documents before it.
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
        // The first event tells the input, each later one the output so far; neither repeats the other.
        if ((input ?? 0) + cached > 0) reported.input = (input ?? 0) + cached;
        if (output !== undefined) reported.output = output;
      }
      if (end !== undefined && (input !== undefined || output !== undefined)) isFinal = true;
    },
    forget: () => void (found = {}),
  };
}

const COUNT = /^\d{1,15}(\.\d+)?$/;
