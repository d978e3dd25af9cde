import type { ModelProvider } from "./model-config.ts";

export interface TokenUsage {
  input: number;
  output: number;
}

// Reads along while an answer passes and finds the tokens it has cost. It keeps no more than a line of a stream, or a whole
// answer that is not one up to a bound.
export interface UsageMeter {
  see(chunk: Buffer): void;
  // What the provider said, or null when it did not come to that (the caller hung up, an unknown shape).
  usage(): TokenUsage | null;
  // Pieces of a stream so far: about as many tokens.
  readonly pieces: number;
}

const MAX_BUFFERED = 4 * 1024 * 1024;

export function createUsageMeter(provider: ModelProvider, contentType: string): UsageMeter {
  const streamed = contentType.startsWith("text/event-stream");
  let text = "";
  let overflown = false;
  let pieces = 0;
  let found: Partial<TokenUsage> = {};

  return {
    see(chunk) {
      if (overflown) return;
      text += chunk.toString("latin1");
      if (streamed) text = readLines(text);
      if (text.length > MAX_BUFFERED) {
        overflown = true;
        text = "";
      }
    },
    usage() {
      if (!streamed && text !== "") note(text);
      text = "";
      return found.input === undefined && found.output === undefined ? null : { input: found.input ?? 0, output: found.output ?? 0 };
    },
    get pieces() {
      return pieces;
    },
  };

  function readLines(buffer: string): string {
    const lines = buffer.split("\n");
    const rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      pieces++;
      // Only few lines hold numbers; the rest is not worth parsing.
      if (line.includes('"usage"')) note(line.slice(5));
    }
    return rest;
  }

  function note(json: string): void {
    try {
      const usage = findUsage(JSON.parse(json) as Answer);
      if (usage) found = { ...found, ...(provider === "openai" ? openAiUsage(usage) : anthropicUsage(usage)) };
    } catch {
      // Not ours to judge.
    }
  }
}

type Numbers = Record<string, unknown>;

interface Answer {
  usage?: Numbers | null;
  // OpenAI's responses interface wraps it in `response`, Anthropic's first event in `message`.
  response?: { usage?: Numbers | null };
  message?: { usage?: Numbers | null };
}

const findUsage = ({ usage, response, message }: Answer): Numbers | null => usage ?? response?.usage ?? message?.usage ?? null;

const numberOf = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.round(value) : 0);

function openAiUsage(usage: Numbers): TokenUsage {
  return { input: numberOf(usage.prompt_tokens ?? usage.input_tokens), output: numberOf(usage.completion_tokens ?? usage.output_tokens) };
}

// The first event tells the input, each later one the output so far; neither repeats the other.
function anthropicUsage(usage: Numbers): Partial<TokenUsage> {
  const input = numberOf(usage.input_tokens) + numberOf(usage.cache_creation_input_tokens) + numberOf(usage.cache_read_input_tokens);
  return { ...(input > 0 ? { input } : {}), output: numberOf(usage.output_tokens) };
}
