import type { Token } from "markdown-it";
import { textOf, type Markdown } from "./markdown.ts";
import type { Source } from "./sources.ts";

export interface Heading {
  level: number;
  title: string;
  anchor: string;
}

// One result of a search: the part of a page below one heading.
export interface Section {
  url: string;
  page: string;
  // Empty for the part above the first heading.
  title: string;
  text: string;
}

export interface Outline {
  headings: Heading[];
  sections: Section[];
}

export function outlineOf({ parser }: Markdown, source: Source): Outline {
  const headings: Heading[] = [];
  const sections: Section[] = [{ url: source.url, page: source.title, title: "", text: "" }];
  const tokens = parser.parse(source.text, { file: source.file });
  for (const [index, token] of tokens.entries()) {
    if (token.type === "heading_open" && token.tag !== "h1") {
      const heading = { level: Number(token.tag.slice(1)), title: textOf(tokens[index + 1]), anchor: token.attrGet("id")! };
      headings.push(heading);
      sections.push({ url: `${source.url}#${heading.anchor}`, page: source.title, title: heading.title, text: "" });
    } else if (tokens[index - 1]?.type !== "heading_open") {
      const text = searchText(token);
      if (text !== "") sections.at(-1)!.text += `${text} `;
    }
  }
  return { headings, sections: sections.filter(({ title, text }) => title !== "" || text !== "") };
}

function searchText(token: Token): string {
  if (token.type === "inline") return textOf(token);
  return token.type === "fence" || token.type === "code_block" ? token.content.replaceAll(/\s+/g, " ") : "";
}
