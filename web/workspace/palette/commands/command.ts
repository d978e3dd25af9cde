export interface Command {
  id: string;
  title: string;
  shortcut?: string;
  // Whether the shortcut works while a terminal has the focus, although the shell could use its key. As in VS Code, the
  // workspace also has all keys that no shell can receive.
  inTerminal?: boolean;
  // The part that handles the shortcut, if it is not the page: only an editor with the focus, or an editor or terminal with the focus and
  // otherwise the page.
  handledBy?: "editor" | "focused";
  // Whether the command can do anything now.
  isAvailable?: () => boolean;
  run: () => void;
}
