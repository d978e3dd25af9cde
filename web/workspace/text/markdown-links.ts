import { parentOf } from "./paths.ts";

// Whether a link in a Markdown file leads into the workspace, not to another host.
export const isRelativeLink = (href: string): boolean => !/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(href);

// Resolves a relative link in a file. `path` is null if the link leads to another place in the same file.
export function resolveLink(from: string, href: string): { path: string | null; anchor: string | null } {
  const [, target = "", , fragment] = /^([^?#]*)(\?[^#]*)?(?:#(.*))?$/s.exec(href) ?? [];
  const anchor = fragment ? decode(fragment) : null;
  if (target === "") return { path: null, anchor };
  const decoded = decode(target);
  const parts = decoded.startsWith("/") ? [] : parentOf(from).split("/");
  for (const part of decoded.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return { path: parts.filter((part) => part !== "").join("/"), anchor };
}

// The index of the heading that an anchor names, as on GitHub; -1 if there is none.
export function findHeading(headings: string[], anchor: string): number {
  const counts = new Map<string, number>();
  const anchors = headings.map((heading) => {
    const slug = slugOf(heading);
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  return anchors.indexOf(anchor.toLowerCase());
}

const slugOf = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-");

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
