// Why a regular expression cannot be used, in plain words, or null if it can.
export function describeRegexError(source: string): string | null {
  try {
    new RegExp(source, "gmu");
    return null;
  } catch (error) {
    // Browsers repeat the expression before the reason.
    const message = (error as Error).message;
    const reason = message.slice(message.lastIndexOf(": ") + 2).replace(/^.*\/[a-z]*: /, "");
    const known = PLAIN.find(([pattern]) => pattern.test(message));
    return known ? known[1] : `This is not a valid regular expression: ${reason}`;
  }
}

const PLAIN: [RegExp, string][] = [
  [/unterminated (group|parenthetical)|missing \)/i, "A ( has no matching )"],
  [/unmatched '?\)|unmatched parentheses/i, "A ) has no matching ("],
  [/unterminated character class|missing terminating \]/i, "A [ has no matching ]"],
  [/nothing to repeat/i, "There is nothing before *, + or ? that could be repeated"],
  [/\\ at end of pattern/i, "The \\ at the end needs a character after it"],
  [/out of order in character class|range out of order/i, "A range in [ ] goes backwards, such as z-a"],
  [/numbers out of order/i, "The numbers in { } are in the wrong order"],
  [/lone quantifier|incomplete quantifier/i, "A { or } needs a \\ before it"],
  [/invalid (identity )?escape/i, "A \\ stands before a character that does not need it"],
  [/invalid group/i, "A group starts with (? but is not complete"],
];
