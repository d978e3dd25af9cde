// The blocking client has the same source as the asynchronous one, without its words for waiting.

const RULES: [RegExp, string][] = [
  [/\basync (def|for|with) /g, "$1 "],
  [/\bawait /g, ""],
  // Only tasks are cancelled.
  [/\bwith anyio\.move_on_after\(\w+, shield=True\):/g, "if True:"],
  [/\bimport anyio\b/g, "import time"],
  [/\banyio\.sleep\b/g, "time.sleep"],
  [/\basynccontextmanager\b/g, "contextmanager"],
  [/\bAsync(?=[A-Z])/g, ""],
  [/\b__a(iter|next|enter|exit)__\b/g, "__$1__"],
  [/\ba(close|read|iter_bytes)\b/g, "$1"],
  [/\bAwaitable, /g, ""],
];

export function toSyncSource(source: string): string {
  return RULES.reduce((text, [pattern, replacement]) => text.replaceAll(pattern, replacement), withoutAwaitables(source));
}

// `Awaitable[Page[T]]` is `Page[T]`.
function withoutAwaitables(text: string): string {
  const at = text.indexOf("Awaitable[");
  if (at < 0) return text;
  const begin = at + "Awaitable[".length;
  let end = begin;
  for (let depth = 1; depth > 0; end++) depth += text[end] === "[" ? 1 : text[end] === "]" ? -1 : 0;
  return withoutAwaitables(text.slice(0, at) + text.slice(begin, end - 1) + text.slice(end));
}
