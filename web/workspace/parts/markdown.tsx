import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useDeferredValue, useMemo } from "react";

export function Markdown({ text }: { text: string }) {
  // Streamed text renders at low priority, so that typing stays fast.
  const deferred = useDeferredValue(text);
  const html = useMemo(() => renderMarkdown(deferred), [deferred]);
  return <div className="prose" dangerouslySetInnerHTML={{ __html: html }} />;
}

const marked = new Marked({ gfm: true, breaks: false });

// Markdown from a file or an agent is untrusted: only plain elements pass, and links open in a new tab. Images must be data
// URLs, so that reading a text makes no request to another server.
const purify = DOMPurify(window);
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  if (node.tagName === "IMG" && !node.getAttribute("src")?.startsWith("data:image/")) node.remove();
});

function renderMarkdown(text: string): string {
  const html = marked.parse(text, { async: false });
  return purify.sanitize(html, {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ["style", "form", "input", "button", "iframe"],
    FORBID_ATTR: ["style", "class", "id"],
  });
}
