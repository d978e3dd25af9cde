import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { copyText } from "../../browser/clipboard.ts";
import { IconButton } from "../../parts/icon-button.tsx";
import { usePage } from "../../state/context.ts";

const CONFIRMED_MS = 1500;

export function CopyButton({ text }: { text: string }) {
  const { notices } = usePage();
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    if (!(await notices.attempt("Could not copy the text", () => copyText(text)))) return;
    setCopied(true);
    setTimeout(() => setCopied(false), CONFIRMED_MS);
  };
  return (
    <IconButton label={copied ? "Copied" : "Copy"} onClick={() => void copy()}>
      {copied ? <Check size={13} /> : <Copy size={13} />}
    </IconButton>
  );
}
