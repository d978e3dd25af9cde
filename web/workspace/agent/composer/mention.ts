// A word at the caret that asks for suggestions: `@` and a part of a path, or `/` and a part of a command at the start of the message.
export interface Mention {
  kind: "file" | "command";
  query: string;
  // Where the word starts, with its first character.
  start: number;
}

export function mentionAt(text: string, caret: number): Mention | null {
  const before = text.slice(0, caret);
  const command = /^\/([\w:.-]*)$/.exec(before);
  if (command) return { kind: "command", query: command[1] ?? "", start: 0 };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
  return file ? { kind: "file", query: file[1] ?? "", start: caret - (file[1] ?? "").length - 1 } : null;
}

// The text with the word replaced, and the place of the caret after it.
export function complete(text: string, caret: number, { start }: Mention, word: string): { text: string; caret: number } {
  const after = text.slice(caret);
  const inserted = after.startsWith(" ") ? word : `${word} `;
  return { text: text.slice(0, start) + inserted + after, caret: start + word.length + 1 };
}
