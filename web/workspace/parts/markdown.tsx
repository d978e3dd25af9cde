import "../styles/prose.css";
import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useDeferredValue, useEffect, useMemo, useRef, type MouseEvent } from "react";
import { isRelativeLink } from "../text/markdown-links.ts";

// Resolves relative links and images of a text. Without it, relative images are omitted.
export interface MarkdownLinks {
  imageUrl: (src: string) => string;
  open: (href: string) => void;
  // Called when a text is on the page.
  onRendered: (element: HTMLElement) => void;
}

export function Markdown({ text, links }: { text: string; links?: MarkdownLinks }) {
  // Streamed text renders at low priority, so that typing stays fast.
  const deferred = useDeferredValue(text);
  const container = useRef<HTMLDivElement>(null);
  const sanitize = useMemo(() => createSanitizer(links?.imageUrl), [links]);
  const html = useMemo(() => sanitize(marked.parse(deferred, { async: false })), [sanitize, deferred]);
  useEffect(() => {
    if (container.current) links?.onRendered(container.current);
  }, [links, html]);
  const onClick = (event: MouseEvent) => {
    const href = event.target instanceof Element ? event.target.closest("a")?.getAttribute("href") : null;
    if (!links || href == null || !isRelativeLink(href)) return;
    event.preventDefault();
    links.open(href);
  };
  return <div ref={container} className="prose" role="presentation" onClick={onClick} dangerouslySetInnerHTML={{ __html: html }} />;
}

const marked = new Marked({ gfm: true, breaks: false });

// Markdown from a file or an agent is untrusted: only plain elements pass, and links to other hosts open in a new tab. Images
// must be data URLs or files of the workspace, so that reading a text makes no request to another server.
function createSanitizer(imageUrl: MarkdownLinks["imageUrl"] | undefined): (html: string) => string {
  const purify = DOMPurify(window);
  purify.addHook("afterSanitizeAttributes", (node) => {
    if (node.tagName === "A") {
      node.setAttribute("target", "_blank");
      node.setAttribute("rel", "noopener noreferrer nofollow");
    }
    if (node.tagName === "IMG") {
      const src = node.getAttribute("src") ?? "";
      if (imageUrl && src !== "" && isRelativeLink(src)) node.setAttribute("src", imageUrl(src));
      else if (!src.startsWith("data:image/")) node.remove();
    }
    // Only the boxes of task lists pass.
    if (node.tagName === "INPUT") {
      if (node.getAttribute("type") !== "checkbox") return node.remove();
      node.setAttribute("disabled", "");
      node.setAttribute("aria-label", node.hasAttribute("checked") ? "Done" : "To do");
    }
  });
  return (html) =>
    purify.sanitize(html, {
      USE_PROFILES: { html: true },
      FORBID_TAGS: ["style", "form", "button", "iframe"],
      FORBID_ATTR: ["style", "class", "id", "srcset"],
    });
}
