import { indentUnit } from "@codemirror/language";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { indentationFrom, parseEditorConfig, propertiesFor } from "./editorconfig.ts";
import { chosenIndentation, defaultIndentation, detectIndentation, type ChosenIndentation, type Indentation } from "./indentation.ts";
import { joinPath, parentOf } from "../../text/paths.ts";
import type { Uses } from "../../actions/actions.ts";

type Deps = Uses<"api" | "files">;

export const indentation = new Compartment();

const MAX_CONFIG_BYTES = 64 * 1024;

// Detects the indentation from the text, and falls back to the chosen one or the usual one of its language.
export const initialIndentation = (path: string, text: string, chosen: ChosenIndentation): Extension =>
  extensionFor(
    detectIndentation(text.slice(0, 200_000), chosen.tabSize) ?? chosenIndentation(chosen) ?? defaultIndentation(path, chosen.tabSize),
  );

// The settings that the workspace's `.editorconfig` files give for a file, or null.
export async function configuredIndentation(deps: Deps, path: string): Promise<Extension | null> {
  let properties = {};
  for (let folder = parentOf(path); ; folder = parentOf(folder)) {
    const text = await readConfig(deps, folder);
    if (text !== null) {
      const config = parseEditorConfig(text);
      const below = folder === "" ? path : path.slice(folder.length + 1);
      // The nearest file wins.
      properties = { ...propertiesFor(config, below), ...properties };
      if (config.root) break;
    }
    if (folder === "") break;
  }
  const found = indentationFrom(properties);
  return found && extensionFor(found);
}

const extensionFor = ({ unit, tabSize }: Indentation): Extension => [indentUnit.of(unit), EditorState.tabSize.of(tabSize)];

async function readConfig({ api, files }: Deps, folder: string): Promise<string | null> {
  const path = joinPath(folder, ".editorconfig");
  // The tree lists the folders above an open file too, and a list says whether they have such a file.
  await files.ensure(folder);
  if (files.isFree(path) && !files.store.getState().truncated[folder]) return null;
  const content = await api.readFile(path, MAX_CONFIG_BYTES).catch(() => null);
  return content?.bytes ? new TextDecoder().decode(content.bytes) : null;
}
