import { ArrowDown, ArrowLeft, ArrowRight, ArrowUp } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import type { TouchKey } from "./output/key-bytes.ts";
import type { TerminalScreen } from "./terminal-screen.ts";

const keys: { key: TouchKey; label: string; face: ReactNode }[] = [
  { key: "Escape", label: "Esc", face: "Esc" },
  { key: "Tab", label: "Tab", face: "Tab" },
  { key: "Left", label: "Left", face: <ArrowLeft size={16} /> },
  { key: "Up", label: "Up", face: <ArrowUp size={16} /> },
  { key: "Down", label: "Down", face: <ArrowDown size={16} /> },
  { key: "Right", label: "Right", face: <ArrowRight size={16} /> },
];

// The keys that touch keyboards lack. Ctrl applies to the next character.
export function TouchKeys({ terminalScreen }: { terminalScreen: TerminalScreen }) {
  const [control, setControl] = useState(false);
  useEffect(() => {
    terminalScreen.onControlUsed(control ? () => setControl(false) : null);
    return () => terminalScreen.onControlUsed(null);
  }, [terminalScreen, control]);
  const keyButton = (label: string, face: ReactNode, press: () => void, pressed?: boolean) => (
    <button key={label} type="button" aria-label={label} aria-pressed={pressed} onClick={press}>
      {face}
    </button>
  );
  return (
    // The keyboard on the screen stays open, because the buttons do not take the focus.
    <div className="touch-keys" role="toolbar" aria-label="Terminal keys" onPointerDown={(event) => event.preventDefault()}>
      {keyButton("Ctrl", "Ctrl", () => setControl(!control), control)}
      {keys.map(({ key, label, face }) => keyButton(label, face, () => terminalScreen.press(key)))}
    </div>
  );
}
