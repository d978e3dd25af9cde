// Agents name modes and answers as programs do: `allow_once` reads "Allow once".
export const readable = (name: string): string => name.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
