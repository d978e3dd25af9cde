// Turns an identifier such as `allow_once` into "Allow once". Agents name their modes and answers that way.
export const humanize = (identifier: string): string => identifier.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
