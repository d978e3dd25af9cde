import { useState } from "react";
import { ChoiceDialog } from "../parts/choice-dialog.tsx";
import { usePage, usePageState } from "../state/context.ts";
import type { Command } from "./commands/command.ts";
import { parseInput } from "./parse-input.ts";
import { useChoices } from "./use-choices.tsx";
import type { PaletteMode } from "../state/page/palette.ts";

export function PaletteDialog({ commands }: { commands: Command[] }) {
  const mode = usePageState("palette", (state) => state.mode);
  return mode && <OpenPalette key={mode} mode={mode} commands={commands} />;
}

const prefixes: Record<PaletteMode, string> = { files: "", commands: ">", line: ":", symbols: "@" };
const names = {
  files: { dialog: "Go to file", field: "File name" },
  commands: { dialog: "Commands", field: "Command" },
  line: { dialog: "Go to line", field: "Line" },
  symbols: { dialog: "Go to symbol", field: "Symbol" },
};

// A text field and the matching files. Its first character can choose commands, lines or symbols instead.
function OpenPalette({ mode, commands }: { mode: PaletteMode; commands: Command[] }) {
  const { palette } = usePage();
  const [early] = useState(palette.early);
  const [text, setText] = useState(prefixes[mode] + early.replace("\n", ""));
  const choices = useChoices(text, commands);
  const named = names[parseInput(text).kind];
  return (
    <ChoiceDialog
      title={named.dialog}
      field={named.field}
      placeholder="File name, > for commands, : for a line, @ for symbols"
      results="Results"
      text={text}
      onText={setText}
      isEntered={early.endsWith("\n")}
      onClose={palette.close}
      {...choices}
    />
  );
}
