import { readChoice, storeChoice } from "./storage.ts";

// Samples in several languages as tabs, by the pattern of WAI-ARIA: one tab is in the order of the Tab key, arrows move between
// them. The chosen language is kept for all pages.
export function wireTabs(): void {
  const groups = [...document.querySelectorAll<HTMLElement>(".tabs")];
  const chosen = readChoice("language");
  if (chosen !== null) for (const group of groups) select(group, chosen);
  for (const group of groups) {
    const tabs = tabsOf(group);
    const choose = (tab: HTMLElement) => {
      const before = tab.getBoundingClientRect().top;
      storeChoice("language", tab.dataset.language!);
      for (const other of groups) select(other, tab.dataset.language!);
      tab.focus();
      // Samples above may have changed their height.
      scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: "instant" });
    };
    for (const [index, tab] of tabs.entries()) {
      tab.addEventListener("click", () => choose(tab));
      tab.addEventListener("keydown", (event) => {
        const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: -1 }[event.key];
        if (next === undefined) return;
        event.preventDefault();
        choose(tabs.at(next % tabs.length)!);
      });
    }
  }
}

const tabsOf = (group: HTMLElement) => [...group.querySelectorAll<HTMLElement>("[role=tab]")];

// A sample without this language keeps what it shows.
function select(group: HTMLElement, language: string): void {
  const tabs = tabsOf(group);
  if (!tabs.some((tab) => tab.dataset.language === language)) return;
  for (const tab of tabs) {
    const isSelected = tab.dataset.language === language;
    tab.setAttribute("aria-selected", String(isSelected));
    tab.tabIndex = isSelected ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")!)!.hidden = !isSelected;
  }
}
