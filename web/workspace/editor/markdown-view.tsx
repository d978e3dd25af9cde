import { useEffect, useMemo, useState } from "react";
import { usePage, usePageState, useSandbox } from "../state/context.ts";
import { useActions, type Uses } from "../actions/actions.ts";
import { Markdown, type MarkdownLinks } from "../parts/markdown.tsx";
import { tabFor } from "../state/tabs/tab.ts";
import { findHeading, resolveLink } from "../text/markdown-links.ts";
import { extensionOf, isMarkdown } from "../text/paths.ts";

// Renders a Markdown file and follows the editor as the person types.
export default function MarkdownView({ path }: { path: string }) {
  const page = usePage();
  const sandbox = useSandbox();
  const actions = useActions();
  const { documents } = page;
  const file = usePageState("documents", (state) => state.files[path]);
  const links = useMemo(() => linksOf({ ...page, ...sandbox, ...actions }, path), [page, sandbox, actions, path]);
  const [text, setText] = useState("");
  useEffect(() => {
    if (file?.kind === "text") setText(documents.textOf(path));
  }, [documents, path, file]);
  if (file?.kind === "failed") return <div className="empty">{file.message}</div>;
  return (
    <div className="markdown-view" tabIndex={0} role="document" aria-label={`Preview of ${path}`}>
      <Markdown text={text} links={links} />
    </div>
  );
}

function linksOf(deps: Uses<"api" | "cursor" | "layout" | "openFile">, path: string): MarkdownLinks {
  const { api, layout, cursor } = deps;
  let shown: HTMLElement | null = null;
  return {
    imageUrl: (src) => api.fileUrl(resolveLink(path, src).path ?? path),
    onRendered(element) {
      shown = element;
      for (const image of element.querySelectorAll("img")) void showVectorImage(image);
      const anchor = element.childElementCount > 0 ? cursor.takeAnchor(path) : null;
      if (anchor !== null) scrollToHeading(element, anchor);
    },
    open(href) {
      const { path: target, anchor } = resolveLink(path, href);
      if (target === null || target === path) return void (shown && anchor && scrollToHeading(shown, anchor));
      if (href.split(/[?#]/)[0]?.endsWith("/")) {
        layout.expandTo(`${target}/`);
        return layout.showSideView("files");
      }
      const line = Number(/^L(\d+)/.exec(anchor ?? "")?.[1]);
      if (!isMarkdown(target)) return deps.openFile(target, line ? { line, column: 1 } : undefined);
      if (anchor !== null) cursor.requestAnchor({ path: target, anchor });
      layout.openTab(tabFor("markdown", target));
    },
  };
}

function scrollToHeading(element: HTMLElement, anchor: string): void {
  const headings = [...element.querySelectorAll("h1, h2, h3, h4, h5, h6")];
  headings[
    findHeading(
      headings.map(({ textContent }) => textContent),
      anchor,
    )
  ]?.scrollIntoView({ block: "start" });
}

// The server names no file's type, and browsers recognise only bitmaps without it.
async function showVectorImage(image: HTMLImageElement): Promise<void> {
  const url = new URL(image.src);
  if (url.protocol === "data:" || extensionOf(url.searchParams.get("path") ?? "") !== "svg") return;
  const response = await fetch(url).catch(() => null);
  if (!response?.ok) return;
  const blob = URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "image/svg+xml" }));
  image.addEventListener("load", () => URL.revokeObjectURL(blob), { once: true });
  image.src = blob;
}
