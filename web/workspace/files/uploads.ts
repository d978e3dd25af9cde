import { loadModule } from "../browser/load-module.ts";
import type { Workspace } from "../state/workspace.ts";

// Uploads from the desktop. The code loads at the first of them.
const loadUpload = () => loadModule(() => import("./upload/upload.ts"));

export const isFileDrag = (data: DataTransfer): boolean => data.types.includes("Files");

// The browser empties the list of dropped files when the event ends, so it is read before anything is awaited.
export function uploadDropped(workspace: Workspace, data: DataTransfer, folder: string): void {
  const items = [...data.items].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  void loadUpload().then(({ uploadItems }) => uploadItems(workspace, items, folder));
}

// Lets the person choose files, or one folder, and uploads them.
export function chooseUpload(workspace: Workspace, kind: "files" | "folder", folder: string): void {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.webkitdirectory = kind === "folder";
  input.addEventListener("change", () => {
    void loadUpload().then(({ uploadChosen }) => uploadChosen(workspace, [...(input.files ?? [])], folder));
  });
  input.click();
}
