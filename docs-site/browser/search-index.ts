import MiniSearch from "minisearch";
import type { Section } from "../outline.ts";

export interface Found {
  section: Section;
  terms: string[];
}

// They are in almost every section.
const STOP_WORDS = new Set(
  "a an and are as at be by can do does for from how i in is it my of on or that the this to what with".split(" "),
);

// The index is made in the browser, of text that search shows anyway, so that only the text is loaded.
export async function loadIndex(address: string): Promise<(query: string) => Found[]> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  const sections = (await response.json()) as Section[];
  const index = new MiniSearch<Section & { id: number }>({
    fields: ["title", "page", "text"],
    // Names such as session_not_found and BERTH_PORT stay whole.
    tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u),
    processTerm: (term) => stemOf(term.toLowerCase()),
    searchOptions: {
      boost: { title: 4, page: 3 },
      prefix: (term) => term.length > 1,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      combineWith: "AND",
    },
  });
  await index.addAllAsync(sections.map((section, id) => ({ ...section, id })));
  return (query) => {
    const isErrorCode = /[a-z]_[a-z]/.test(query);
    const boostDocument = (id: number) => weightOf(sections[id]!, isErrorCode);
    return index.search(query, { boostDocument }).map(({ id, terms }) => ({ section: sections[id as number]!, terms }));
  };
}

// The beginning that the forms of an English word share, so that "pausing" finds "paused". Short words and names stay as they are.
function stemOf(word: string): string | null {
  return STOP_WORDS.has(word) ? null : word.replace(/^([a-z]{4,}?)(?:ing|ed|es|e|s)$/, "$1");
}

// A reader who looks for an error code finds what it means. Guides come before the changelog and the decisions.
function weightOf({ url }: Section, isErrorCode: boolean): number {
  if (isErrorCode && /^\/docs\/(errors|troubleshooting)/.test(url)) return 3;
  return /^\/docs\/(changelog|decisions\/|architecture|contributing|bench)/.test(url) ? 0.3 : 1;
}
