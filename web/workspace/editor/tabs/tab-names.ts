import type { PageName, Tab } from "../../state/tabs/tab.ts";
import { nameOf, parentOf } from "../../text/paths.ts";

const suffixes = { file: "", diff: ": changes", compare: ": compare", markdown: ": preview" };

const pageNames: Record<PageName, string> = { settings: "Settings", settingsJson: "Settings (JSON)", shortcuts: "Keyboard shortcuts" };

export function tabName(tab: Tab): string {
  if ("title" in tab) return tab.title;
  if (tab.kind === "page") return pageNames[tab.page];
  return tab.kind === "preview" ? `Port ${tab.port}` : nameOf(tab.path) + suffixes[tab.kind];
}

// The folder of a file, if another tab has the same name: as many of its last parts as tell them apart.
export function folderShown(tab: Tab, tabs: readonly Tab[]): string | null {
  if (!("path" in tab)) return null;
  const twins = tabs.flatMap((other) => (other.id !== tab.id && "path" in other && tabName(other) === tabName(tab) ? [other.path] : []));
  const folder = parentOf(tab.path);
  const isShared = (end: string) => twins.some((twin) => `/${parentOf(twin)}`.endsWith(end));
  let from = folder.lastIndexOf("/");
  while (from > 0 && isShared(folder.slice(from))) from = folder.lastIndexOf("/", from - 1);
  return twins[0] ? (from > 0 ? `…${folder.slice(from)}` : folder || "workspace") : null;
}
