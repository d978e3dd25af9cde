import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import MarkdownIt, { type PluginSimple, type Token } from "markdown-it";
import { escapeHtml } from "markdown-it/lib/common/utils.mjs";
import { createAnchors } from "./anchors.ts";
import { assetAddress } from "./assets.ts";
import { highlight } from "./highlight.ts";
import { addTabs } from "./tabs.ts";
import { ROOT, type Target } from "./sources.ts";

// Passed to the parser with every document: the path of its file.
export interface DocumentEnv {
  file: string;
}

export interface Markdown {
  parser: MarkdownIt;
  // The images that documents show: address on the server -> path of the file.
  images: Map<string, string>;
}

// Renders the Markdown of this repository as pages. Raw HTML is shown as text, and comments between blocks not at all.
export function createMarkdown(resolve: (from: string, link: string) => Target): Markdown {
  const images = new Map<string, string>();
  const parser = new MarkdownIt({ html: false, linkify: false });
  parser.use(removeComments).use(addAnchors).use(addTabs).use(resolveLinks(resolve)).use(collectImages(images)).use(wrapBlocks);
  return { parser, images };
}

// Text of an inline token, without its markup.
export const textOf = (inline: Token | undefined): string =>
  (inline?.children ?? [])
    .map(({ type, content }) => (type === "text" || type === "code_inline" ? content : type === "softbreak" ? " " : ""))
    .join("");

// Without raw HTML, a comment is a paragraph.
const removeComments: PluginSimple = (parser) => {
  parser.core.ruler.push("comments", (state) => {
    const isComment = (inline: Token | undefined) => inline?.type === "inline" && /^<!--[^>]*-->$/.test(inline.content);
    state.tokens = state.tokens.filter((_, index, tokens) => ![0, 1, -1].some((step) => isComment(tokens[index + step])));
  });
};

const addAnchors: PluginSimple = (parser) => {
  parser.core.ruler.push("anchors", ({ tokens }) => {
    const nextAnchor = createAnchors();
    for (const [index, token] of tokens.entries()) {
      if (token.type === "heading_open") token.attrSet("id", nextAnchor(textOf(tokens[index + 1])));
    }
  });
  parser.renderer.rules.heading_close = (tokens, index) => {
    const opening = tokens[index - 2]!;
    if (opening.tag === "h1") return "</h1>\n";
    const label = escapeHtml(`Link to “${textOf(tokens[index - 1])}”`);
    return ` <a class="anchor" href="#${opening.attrGet("id")}" aria-label="${label}">#</a></${opening.tag}>\n`;
  };
};

// A link to another document leads to its page. A file of the repository that is not a page is shown with its path, without a link.
function resolveLinks(resolve: (from: string, link: string) => Target): PluginSimple {
  return (parser) => {
    parser.core.ruler.push("links", ({ tokens, env }) => {
      const { file } = env as DocumentEnv;
      for (const { children } of tokens) {
        const open: Token[] = [];
        for (const token of children ?? []) {
          if (token.type === "link_open") open.push(resolveLink(token, file, resolve));
          if (token.type === "link_close") token.tag = open.pop()!.tag;
        }
      }
    });
  };
}

function resolveLink(token: Token, file: string, resolve: (from: string, link: string) => Target): Token {
  const href = token.attrGet("href") ?? "";
  if (/^https?:/.test(href)) token.attrSet("rel", "noreferrer");
  else if (!/^(mailto:|\/)/.test(href)) {
    const target = resolve(file, href);
    if (target && "url" in target) token.attrSet("href", target.url);
    else {
      token.tag = "span";
      token.attrs = [
        ["class", "file"],
        ["title", `In the repository: ${target?.file ?? href}`],
      ];
    }
  }
  return token;
}

function collectImages(images: Map<string, string>): PluginSimple {
  return (parser) => {
    parser.core.ruler.push("images", ({ tokens, env }) => {
      for (const token of tokens.flatMap(({ children }) => children ?? [])) {
        const source = token.type === "image" ? token.attrGet("src")! : "";
        const path = join(ROOT, dirname((env as DocumentEnv).file), source);
        if (source === "" || /^https?:/.test(source) || !existsSync(path)) continue;
        const url = assetAddress(path, readFileSync(path));
        images.set(url, path);
        token.attrSet("src", url);
        token.attrSet("loading", "lazy");
      }
    });
  };
}

// Wide blocks scroll by themselves, by keyboard too.
const wrapBlocks: PluginSimple = ({ renderer: { rules } }) => {
  rules.table_open = () => `<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>\n`;
  rules.table_close = () => `</table></div>\n`;
  // Long names may break after an underscore or a slash.
  rules.code_inline = (tokens, index) => `<code>${escapeHtml(tokens[index]!.content).replaceAll(/(?<=\w)[_/](?=\w)/g, "$&<wbr>")}</code>`;
  rules.fence = (tokens, index) => {
    const { info, content, attrs } = tokens[index]!;
    const language = info.trim();
    const attributes = (attrs ?? []).map(([name, value]) => ` ${name}="${escapeHtml(value)}"`).join("");
    const code = highlight(content.replace(/\n$/, ""), language);
    return `<div class="code"${attributes}><pre tabindex="0"><code>${code}</code></pre></div>\n`;
  };
};
