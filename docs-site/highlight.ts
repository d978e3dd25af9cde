import { StreamLanguage } from "@codemirror/language";
import { http } from "@codemirror/legacy-modes/mode/http";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { classHighlighter, highlightCode } from "@lezer/highlight";
import { parser as html } from "@lezer/html";
import { parser as javascript } from "@lezer/javascript";
import { parser as json } from "@lezer/json";
import { parser as python } from "@lezer/python";
import { parser as yaml } from "@lezer/yaml";
import { escapeHtml } from "markdown-it/lib/common/utils.mjs";

// The grammars of the workspace's editor. They need no new package, and they mark words with classes, which the
// Content-Security-Policy allows, unlike style attributes.
const shellParser = StreamLanguage.define(shell).parser;
const PARSERS: Record<string, { parse(text: string): Parameters<typeof highlightCode>[1] }> = {
  bash: shellParser,
  sh: shellParser,
  html,
  http: StreamLanguage.define(http).parser,
  json,
  python,
  js: javascript,
  ts: javascript.configure({ dialect: "ts" }),
  yaml,
};

export function highlight(code: string, language: string): string {
  const parser = PARSERS[language];
  if (!parser) return escapeHtml(code);
  let result = "";
  highlightCode(
    code,
    parser.parse(code),
    classHighlighter,
    (text, classes) => (result += classes ? `<span class="${classes}">${escapeHtml(text)}</span>` : escapeHtml(text)),
    () => (result += "\n"),
  );
  return result;
}
