import MiniSearch from "minisearch";
import type { Section } from "../outline.ts";

export interface Found {
  section: Section;
  terms: string[];
}

// The index is made in the browser, of text that search shows anyway, so that only the text is loaded.
export async function loadIndex(address: string): Promise<(query: string) => Found[]> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  const sections = (await response.json()) as Section[];
  const index = new MiniSearch<Section & { id: number }>({
    fields: ["title", "page", "text"],
    // Names such as session_not_found and BERTH_PORT stay whole.
    tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u),
    searchOptions: { boost: { title: 4, page: 3 }, prefix: true, fuzzy: (term) => (term.length > 4 ? 0.2 : false), combineWith: "AND" },
  });
  await index.addAllAsync(sections.map((section, id) => ({ ...section, id })));
  return (query) => {
    const isName = query.includes("_");
    const boostDocument = (id: number) => weightOf(sections[id]!, isName);
    return index.search(query, { boostDocument }).map(({ id, terms }) => ({ section: sections[id as number]!, terms }));
  };
}

// A reader who looks for an error code finds what it means. Guides come before the changelog and the decisions.
function weightOf({ url }: Section, isName: boolean): number {
  if (isName && /^\/docs\/(errors|troubleshooting)/.test(url)) return 3;
  return /^\/docs\/(changelog|decisions\/|architecture|contributing|bench)/.test(url) ? 0.3 : 1;
}
