import type { LanguagesState } from "../../../state/sandbox/languages.ts";

export interface ProblemPlace {
  path: string;
  line: number;
  column: number;
}

// The first problem in the next file that has one, or the last one in the file before. Null if no other file has any.
export function problemElsewhere(problems: LanguagesState["problems"], path: string, direction: 1 | -1): ProblemPlace | null {
  const withProblems = Object.keys(problems).filter((each) => each !== path && (problems[each]?.length ?? 0) > 0);
  const ordered = withProblems.toSorted((a, b) => (a < b ? -direction : direction));
  const target = ordered.find((each) => (direction === 1 ? each > path : each < path)) ?? ordered[0];
  const inOrder = target === undefined ? [] : (problems[target] ?? []).toSorted((a, b) => a.line - b.line || a.column - b.column);
  const problem = inOrder.at(direction === 1 ? 0 : -1);
  return target !== undefined && problem ? { path: target, line: problem.line, column: problem.column } : null;
}
