import { EditorView } from "@codemirror/view";

const underline = (colour: string) => ({
  backgroundImage: "none",
  textDecoration: `underline wavy ${colour} 1px`,
  textUnderlineOffset: "3px",
  textDecorationSkipInk: "none",
});

// The marks, lists and boxes of language servers, in the colours of the page.
export const languageTheme = EditorView.theme({
  ".cm-lintRange-error": underline("var(--bad)"),
  ".cm-lintRange-warning": underline("var(--warn)"),
  ".cm-lintRange-info": underline("var(--accent)"),
  ".cm-lintRange-hint": { backgroundImage: "none" },
  ".cm-unused-code": { opacity: "0.6" },
  ".cm-lintRange-active": { backgroundColor: "color-mix(in srgb, var(--hover) 60%, transparent)" },
  ".cm-tooltip": { color: "var(--text)", fontFamily: "var(--font)", fontSize: "12.5px", lineHeight: "1.5" },
  ".cm-tooltip-section:not(:first-child)": { borderTop: "1px solid var(--border)" },
  ".cm-diagnostic": { padding: "6px 10px", borderLeft: "3px solid var(--border-strong)", whiteSpace: "pre-wrap", maxWidth: "560px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-diagnostic-info": { borderLeftColor: "var(--accent)" },
  ".cm-diagnosticSource": { color: "var(--muted)", fontSize: "11.5px", opacity: "1" },
  ".cm-lsp-documentation": { padding: "6px 10px", maxWidth: "560px", maxHeight: "320px", overflow: "auto" },
  ".cm-lsp-documentation pre, .cm-lsp-documentation code": { fontFamily: "var(--mono)", fontSize: "12.5px", whiteSpace: "pre-wrap" },
  ".cm-lsp-documentation p": { margin: "4px 0" },
  ".cm-lsp-documentation a": { color: "var(--accent)" },
  ".cm-lsp-signature-tooltip": { padding: "6px 10px", maxWidth: "560px", maxHeight: "220px", overflowY: "auto" },
  ".cm-lsp-signature-tooltip .cm-lsp-signature": { fontFamily: "var(--mono)", fontSize: "12.5px" },
  ".cm-lsp-signature-tooltip .cm-lsp-active-parameter": { fontWeight: "700", color: "var(--accent)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "260px" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal" },
  ".cm-completionMatchedText": { textDecoration: "none", color: "var(--accent)", fontWeight: "650" },
  ".cm-completionInfo": { padding: "0", maxWidth: "420px" },
});
