import "../styles/dialogs.css";
import type { Command } from "../palette/commands/command.ts";
import { PaletteDialog } from "../palette/palette-dialog.tsx";
import { PickerDialog } from "../palette/picker-dialog.tsx";
import { QuestionDialog } from "./question-dialog.tsx";

export default function OpenDialogs({ commands }: { commands: Command[] }) {
  return (
    <>
      <PaletteDialog commands={commands} />
      <PickerDialog />
      <QuestionDialog />
    </>
  );
}
