import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// All colours are CSS variables of the page, so that one theme serves light and dark.
const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--page)", fontSize: "var(--editor-size, 13px)" },
  ".cm-scroller": { fontFamily: "var(--editor-font, var(--mono))", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--caret)", padding: "8px 0" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--caret)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "var(--page)", color: "var(--muted)", border: "none", paddingRight: "4px" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "36px", padding: "0 4px 0 12px" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--hover) 45%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--selection)" },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--selection) 60%, transparent)" },
  ".cm-searchMatch": { backgroundColor: "var(--match)" },
  ".cm-findScope": { backgroundColor: "color-mix(in srgb, var(--selection) 45%, transparent)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--match-active)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--hover)", outline: "1px solid var(--border-strong)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--hover)", border: "none", color: "var(--muted)", padding: "0 6px" },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", borderColor: "var(--border)" },
  ".cm-panels-top": { borderBottom: "1px solid var(--border)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    border: "1px solid var(--border-strong)",
    borderRadius: "6px",
    boxShadow: "var(--shadow)",
    overflow: "hidden",
  },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--selected)", color: "var(--text)" },
  "&.cm-merge-b .cm-changedLine": { backgroundColor: "var(--added)" },
  // The whole line has a background already.
  "ins.cm-insertedLine, del.cm-deletedLine, .cm-insertedLine, .cm-deletedLine": { background: "none", textDecoration: "none" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: "var(--removed)" },
  "&.cm-merge-b .cm-changedText, .cm-insertedLine .cm-changedText": { background: "color-mix(in srgb, var(--good) 26%, transparent)" },
  "&.cm-merge-a .cm-changedText, .cm-deletedText, .cm-deletedChunk .cm-deletedText": {
    background: "color-mix(in srgb, var(--bad) 26%, transparent)",
  },
  ".cm-collapsedLines": { background: "var(--surface)", color: "var(--muted)", border: "solid var(--border)", borderWidth: "1px 0" },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.controlKeyword], color: "var(--syntax-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--syntax-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--syntax-number)" },
  { tag: [tags.comment, tags.meta], color: "var(--syntax-comment)", fontStyle: "italic" },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.definition(tags.variableName)],
    color: "var(--syntax-name)",
  },
  { tag: [tags.typeName, tags.className, tags.namespace], color: "var(--syntax-type)" },
  { tag: [tags.propertyName, tags.attributeName], color: "var(--syntax-property)" },
  { tag: [tags.tagName, tags.angleBracket], color: "var(--syntax-tag)" },
  { tag: tags.heading, fontWeight: "650", color: "var(--syntax-name)" },
  { tag: tags.strong, fontWeight: "650" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: [tags.link, tags.url], color: "var(--accent)", textDecoration: "underline" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

export const theme = [look, syntaxHighlighting(colours)];
