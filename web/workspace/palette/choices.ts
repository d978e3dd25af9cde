import type { ReactNode } from "react";

export interface PaletteChoice {
  id: string;
  content: ReactNode;
  run: () => void;
}

export interface Choices {
  choices: PaletteChoice[];
  note: string | null;
  // Whether the choices belong to the current text, not to an earlier one.
  isCurrent: boolean;
}
