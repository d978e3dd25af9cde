import { createAnchors } from "./anchors.ts";
import { NAVIGATION } from "./navigation.ts";
import { DECISIONS_URL, REFERENCE_URL, type Source } from "./sources.ts";

interface Link {
  name: string;
  url: string;
}

export interface Menu {
  title: string;
  about: string;
  links: Link[];
}

// Pages that are not made of a Markdown file, at the top of their group.
const GENERATED: Record<string, Link> = {
  Reference: { name: "API reference", url: REFERENCE_URL },
  Project: { name: "Decisions", url: DECISIONS_URL },
};

export function navigationOf(sources: readonly Source[]): Menu[] {
  const byFile = new Map(sources.map((source) => [source.file, source]));
  return NAVIGATION.map(({ title, about, entries }) => ({
    title,
    about,
    links: [...(GENERATED[title] ? [GENERATED[title]] : []), ...entries.flatMap(({ file }) => byFile.get(file) ?? [])],
  }));
}

// The pages before and after this one, in the order of the navigation. Decisions have an order of their own.
export function neighboursOf(source: Source, sources: readonly Source[]): { previous?: Link; next?: Link } {
  const order: Link[] = source.file.startsWith("docs/decisions/")
    ? sources.filter(({ file }) => file.startsWith("docs/decisions/"))
    : navigationOf(sources).flatMap(({ links }) => links);
  const position = order.findIndex(({ url }) => url === source.url);
  return position < 0 ? {} : { previous: order[position - 1], next: order[position + 1] };
}

// The sections of the changelog, newest first.
export function releasesOf(sources: readonly Source[]): Link[] {
  const changelog = sources.find(({ file }) => file === "CHANGELOG.md")!;
  const nextAnchor = createAnchors();
  return [...changelog.text.matchAll(/^(#+) (.+)$/gm)]
    .map(([, level, name]) => ({ level, name: name!, url: `${changelog.url}#${nextAnchor(name!)}` }))
    .filter(({ level }) => level === "##")
    .map(({ name, url }) => ({ name, url }));
}
