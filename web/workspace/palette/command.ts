export interface Command {
  id: string;
  title: string;
  shortcut?: string;
  // Whether the shortcut works while a terminal has the focus, although the shell could use its key. As in VS Code, the
  // workspace also has all keys that no shell can receive.
  inTerminal?: boolean;
  run: () => void;
}
