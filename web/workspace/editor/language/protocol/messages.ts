// The parts of the Language Server Protocol that we use directly.

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

export interface Location {
  uri: string;
  range: Range;
}

export interface LocationLink {
  targetUri: string;
  targetSelectionRange: Range;
}

export interface TextEdit {
  range: Range;
  newText: string;
}

export interface WorkspaceEdit {
  changes?: Record<string, TextEdit[]>;
  // Entries with a `kind` create, rename or delete files.
  documentChanges?: ({ textDocument: { uri: string }; edits: TextEdit[] } | { kind: string })[];
}

export interface ServerDiagnostic {
  range: Range;
  severity?: 1 | 2 | 3 | 4;
  source?: string;
  code?: string | number;
  message: string;
  // 1: the code is not used. 2: it is deprecated.
  tags?: number[];
}

export interface Command {
  title: string;
  command: string;
  arguments?: unknown[];
}

export interface CodeAction {
  title: string;
  kind?: string;
  isPreferred?: boolean;
  // Why it cannot be applied now.
  disabled?: { reason: string };
  edit?: WorkspaceEdit;
  // Runs after the edit.
  command?: Command;
}

export interface DocumentSymbol {
  name: string;
  detail?: string;
  kind: number;
  selectionRange: Range;
  children?: DocumentSymbol[];
}

export interface SymbolInformation {
  name: string;
  kind: number;
  location: Location;
}

export interface CompletionItem {
  label: string;
  // Such as the module that an import would name.
  labelDetails?: { description?: string };
  detail?: string;
  kind?: number;
  sortText?: string;
  filterText?: string;
  insertText?: string;
  // 2: a snippet.
  insertTextFormat?: number;
  textEdit?: { newText: string; range: Range } | { newText: string; insert: Range };
  textEditText?: string;
  documentation?: string | { kind: "plaintext" | "markdown"; value: string };
  commitCharacters?: string[];
  // Changes elsewhere in the file, such as an import. Many servers send them only for the item that is asked about again.
  additionalTextEdits?: TextEdit[];
}

export interface CompletionList {
  items: CompletionItem[];
  // Whether more letters need another request.
  isIncomplete?: boolean;
  itemDefaults?: {
    commitCharacters?: string[];
    editRange?: Range | { insert: Range };
    insertTextFormat?: number;
  };
}
