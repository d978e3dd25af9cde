import { loadModule } from "../browser/load-module.ts";
import type { Uses } from "../actions/actions.ts";

type Deps = Uses<"api" | "dialogs" | "files" | "notices" | "transfers">;

// Uploads from the desktop. The code loads at the first of them.
const loadUpload = () => loadModule(() => import("./upload/upload.ts"));

export const isFileDrag = (data: DataTransfer): boolean => data.types.includes("Files");

// The browser empties the list of dropped files when the event ends, so it is read before anything is awaited.
export function uploadDropped(deps: Deps, data: DataTransfer, folder: string): void {
  const items = [...data.items].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  void loadUpload().then(({ uploadItems }) => uploadItems(deps, items, folder));
}

// Lets the person choose files, or one folder, and uploads them.
export function chooseUpload(deps: Deps, kind: "files" | "folder", folder: string): void {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.webkitdirectory = kind === "folder";
  input.addEventListener("change", () => {
    void loadUpload().then(({ uploadChosen }) => uploadChosen(deps, [...(input.files ?? [])], folder));
  });
  input.click();
}
