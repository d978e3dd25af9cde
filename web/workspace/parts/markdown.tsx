import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useDeferredValue, useMemo } from "react";

const marked = new Marked({ gfm: true, breaks: false });

// Markdown from a file or an agent is untrusted: only plain elements pass, links open elsewhere, pictures are loaded only
// from the text itself so that reading does not tell anybody about it.
const purify = DOMPurify(window);
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  if (node.tagName === "IMG" && !node.getAttribute("src")?.startsWith("data:image/")) node.remove();
});

export function renderMarkdown(text: string): string {
  const html = marked.parse(text, { async: false });
  return purify.sanitize(html, {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ["style", "form", "input", "button", "iframe"],
    FORBID_ATTR: ["style", "class", "id"],
  });
}

export function Markdown({ text }: { text: string }) {
  // Text that streams in is drawn when there is time for it, so that typing stays quick.
  const settled = useDeferredValue(text);
  const html = useMemo(() => renderMarkdown(settled), [settled]);
  return <div className="prose" dangerouslySetInnerHTML={{ __html: html }} />;
}
