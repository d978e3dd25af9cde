import type { PageName, Tab } from "../../state/tabs/tab.ts";
import { nameOf, parentOf } from "../../text/paths.ts";

const suffixes = { file: "", diff: ": changes", compare: ": compare", markdown: ": preview" };

const pageNames: Record<PageName, string> = { settings: "Settings", settingsJson: "Settings (JSON)", shortcuts: "Keyboard shortcuts" };

export function tabName(tab: Tab): string {
  if (tab.kind === "revisions") return tab.title;
  if (tab.kind === "page") return pageNames[tab.page];
  return tab.kind === "preview" ? `Port ${tab.port}` : nameOf(tab.path) + suffixes[tab.kind];
}

// The folder of a file, if another tab has the same name.
export function folderShown(tab: Tab, tabs: readonly Tab[]): string | null {
  if (!("path" in tab)) return null;
  const isTwin = (other: Tab) => other.id !== tab.id && "path" in other && tabName(other) === tabName(tab);
  return tabs.some(isTwin) ? parentOf(tab.path) || "workspace" : null;
}
