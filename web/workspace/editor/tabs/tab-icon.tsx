import { Eye, GitCompare, Globe, Keyboard as KeyboardIcon, Settings, SquareTerminal } from "lucide-react";
import { FileIcon } from "../../parts/file-icon.tsx";
import type { Tab } from "../../state/tabs/tab.ts";

export function TabIcon({ tab }: { tab: Tab }) {
  if (tab.kind === "preview") return <Globe size={14} />;
  if (tab.kind === "diff" || tab.kind === "compare" || tab.kind === "revisions") return <GitCompare size={14} />;
  if (tab.kind === "page") return tab.page === "shortcuts" ? <KeyboardIcon size={14} /> : <Settings size={14} />;
  if (tab.kind === "output") return <SquareTerminal size={14} />;
  if (tab.kind === "markdown") return <Eye size={14} />;
  return <FileIcon path={tab.path} />;
}
