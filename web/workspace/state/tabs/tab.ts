export type Tab =
  | { id: string; kind: "file"; path: string }
  // The original file compared with the current one.
  | { id: string; kind: "diff"; path: string }
  // The text in the editor compared with the file on disk.
  | { id: string; kind: "compare"; path: string }
  | { id: string; kind: "markdown"; path: string }
  | { id: string; kind: "preview"; port: number }
  // The output of a process of the API.
  | { id: string; kind: "output"; processId: string; title: string }
  | RevisionsTab
  | { id: string; kind: "page"; page: PageName };

// A page of the workspace itself.
export type PageName = "settings" | "settingsJson" | "shortcuts";

// Two revisions of a file compared. They do not change with the text in the editor.
export interface RevisionsTab {
  id: string;
  kind: "revisions";
  title: string;
  // Null if the file did not exist, or does not exist any more.
  before: Revision | null;
  after: Revision | null;
}

export interface Revision {
  path: string;
  // "disk", "index", "HEAD" or the id of a commit.
  revision: string;
}

export const fileTab = (path: string): Tab => ({ id: `file:${path}`, kind: "file", path });
export const tabFor = (kind: "diff" | "compare" | "markdown", path: string): Tab => ({ id: `${kind}:${path}`, kind, path });
export const revisionsTab = (title: string, before: Revision | null, after: Revision | null): Tab => {
  const name = (side: Revision | null) => (side === null ? "" : `${side.revision}:${side.path}`);
  return { id: `revisions:${name(before)}:${name(after)}`, kind: "revisions", title, before, after };
};
export const pageTab = (page: PageName): Tab => ({ id: `page:${page}`, kind: "page", page });
export const outputTab = (processId: string, title: string): Tab => ({ id: `output:${processId}`, kind: "output", processId, title });
export const previewTab = (port: number): Tab => ({ id: `preview:${port}`, kind: "preview", port });

// Whether a tab shows the result of the code, not a text to work on.
export const showsResult = (tab: Tab): boolean => tab.kind === "preview" || tab.kind === "markdown";
