// Parses JSON that may have comments and commas at the end of lists, as devcontainer.json may.
export function parseJsonWithComments(text: string): unknown {
  // Strings are matched first, so that nothing in them counts as a comment or a comma.
  const plain = text
    .replace(/^\uFEFF/, "")
    .replaceAll(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/g, (_, string: string | undefined) => string ?? " ")
    .replaceAll(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, (_, string: string | undefined) => string ?? "");
  return JSON.parse(plain);
}
