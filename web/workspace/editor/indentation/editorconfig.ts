import { indentWith, type Indentation } from "./indentation.ts";

type Properties = Record<string, string>;

export interface EditorConfig {
  // Whether the files of the folders above do not count.
  root: boolean;
  sections: { matches: (path: string) => boolean; properties: Properties }[];
}

// An `.editorconfig` file. Paths are relative to its folder.
export function parseEditorConfig(text: string): EditorConfig {
  const config: EditorConfig = { root: false, sections: [] };
  let properties: Properties | null = null;
  for (const line of text.split(/\r?\n/).map((each) => each.trim())) {
    const glob = /^\[(.+)\]$/.exec(line)?.[1];
    const [, name, value] = /^([^#;=:][^=:]*?)\s*[=:]\s*(.*?)(?:\s[#;].*)?$/.exec(line) ?? [];
    if (glob !== undefined) config.sections.push({ matches: matcher(glob), properties: (properties = {}) });
    else if (name === undefined || value === undefined) continue;
    else if (properties) properties[name.toLowerCase()] = value.toLowerCase();
    else if (name.toLowerCase() === "root") config.root = value.toLowerCase() === "true";
  }
  return config;
}

// The properties for a path; later sections win.
export const propertiesFor = ({ sections }: EditorConfig, path: string): Properties =>
  Object.assign({}, ...sections.filter(({ matches }) => matches(path)).map(({ properties }) => properties)) as Properties;

export function indentationFrom(properties: Properties): Indentation | null {
  const { indent_style: style, indent_size: size, tab_width: tabWidth } = properties;
  const tabSize = widthOf(tabWidth) ?? widthOf(size);
  if (style === "tab" || (style === undefined && size === "tab")) return indentWith("tab", tabSize);
  const width = size === "tab" ? tabSize : (widthOf(size) ?? tabSize);
  return width === undefined ? null : indentWith(width, tabSize);
}

function widthOf(text: string | undefined): number | undefined {
  const width = Number(text);
  return Number.isInteger(width) && width >= 1 && width <= 16 ? width : undefined;
}

// A glob without a slash matches in every folder below.
function matcher(glob: string): (path: string) => boolean {
  try {
    const pattern = new RegExp(`^${glob.includes("/") ? "" : "(?:.*/)?"}${toPattern(glob.replace(/^\//, ""))}$`);
    return (path) => pattern.test(path);
  } catch {
    return () => false;
  }
}

const toPattern = (glob: string): string =>
  glob.replace(/\*\*|\*|\?|\{[^{}]*\}|\[!?[^\]]*\]|[\\^$.+()|{}[\]]/g, (part) => {
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    if (part.startsWith("{") && part.length > 1) return alternatives(part.slice(1, -1));
    if (part.startsWith("[") && part.length > 1) return part.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
    return `\\${part}`;
  });

function alternatives(inner: string): string {
  const [, first, last] = /^(-?\d+)\.\.(-?\d+)$/.exec(inner) ?? [];
  if (first === undefined || last === undefined)
    return inner.includes(",") ? `(?:${inner.split(",").map(toPattern).join("|")})` : `\\{${toPattern(inner)}\\}`;
  const [low, high] = [Number(first), Number(last)].toSorted((a, b) => a - b) as [number, number];
  return `(?:${Array.from({ length: Math.min(high - low + 1, 1000) }, (_, i) => low + i).join("|")})`;
}
