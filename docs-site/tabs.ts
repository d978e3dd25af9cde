import type { PluginSimple, Token } from "markdown-it";

// The languages of our samples. Blocks in different ones that follow each other are one sample, and the page shows them as tabs. On a
// code host they stand one below the other.
const LANGUAGES: Record<string, string> = { ts: "TypeScript", python: "Python", bash: "curl" };

export const addTabs: PluginSimple = (parser) => {
  parser.core.ruler.after("block", "tabs", (state) => {
    const result: Token[] = [];
    let count = 0;
    for (let index = 0; index < state.tokens.length;) {
      const sample = sampleAt(state.tokens, index);
      if (sample.length < 2) result.push(state.tokens[index++]!);
      else {
        const opening = new state.Token("tabs_open", "div", 1);
        opening.meta = markPanels(sample, ++count);
        result.push(opening, ...sample, new state.Token("tabs_close", "div", -1));
        index += sample.length;
      }
    }
    state.tokens = result;
  });
  parser.renderer.rules.tabs_open = (tokens, index) => renderTabList(tokens[index]!.meta as Tab[]);
  parser.renderer.rules.tabs_close = () => "</div>\n";
};

interface Tab {
  id: string;
  panel: string;
  language: string;
}

// The longest row of blocks from `index` on in languages that differ.
function sampleAt(tokens: readonly Token[], index: number): Token[] {
  const sample: Token[] = [];
  for (const token of tokens.slice(index, index + Object.keys(LANGUAGES).length)) {
    const isNew = token.type === "fence" && languageOf(token) in LANGUAGES && !sample.some((one) => languageOf(one) === languageOf(token));
    if (!isNew) break;
    sample.push(token);
  }
  return sample;
}

const languageOf = ({ info }: Token) => info.trim();

// The first tab is selected until the script knows what the reader has chosen.
function markPanels(sample: readonly Token[], number: number): Tab[] {
  return sample.map((token, position) => {
    const language = languageOf(token);
    const tab = { id: `tab-${number}-${language}`, panel: `panel-${number}-${language}`, language };
    token.attrs = [
      ["role", "tabpanel"],
      ["id", tab.panel],
      ["aria-labelledby", tab.id],
      ["data-language", language],
      ...(position === 0 ? [] : ([["hidden", ""]] as [string, string][])),
    ];
    return tab;
  });
}

const renderTabList = (tabs: readonly Tab[]): string =>
  `<div class="tabs"><div role="tablist" aria-label="Language of the sample">${tabs
    .map(
      ({ id, panel, language }, position) =>
        `<button type="button" role="tab" id="${id}" aria-controls="${panel}" aria-selected="${position === 0}" tabindex="${position === 0 ? 0 : -1}" data-language="${language}">${LANGUAGES[language]}</button>`,
    )
    .join("")}</div>\n`;
