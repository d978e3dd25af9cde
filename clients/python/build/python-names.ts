// Python's names of the API's properties: `modifiedAtMs` is `modified_at_ms`, and `from`, a word of the language, is `from_`.

const KEYWORDS = new Set(["from", "in", "is", "global", "class", "def", "import", "pass", "return", "with", "as", "lambda"]);

export function pythonName(name: string): string {
  const python = snakeCase(name);
  // berth/_wire.py makes the API's name of Python's.
  const back = python.replaceAll(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
  if (back !== name) throw new Error(`Python cannot name the property ${name}`);
  return KEYWORDS.has(python) ? `${python}_` : python;
}

export const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
