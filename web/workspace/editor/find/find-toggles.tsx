import "../../styles/editor/toggles.css";
import { CaseSensitive, Regex, WholeWord } from "lucide-react";
import { IconButton } from "../../parts/icon-button.tsx";
import type { FindOptions } from "./find-state.ts";

export function FindToggles({ options, change }: { options: FindOptions; change: (changed: Partial<FindOptions>) => void }) {
  const { caseSensitive, wholeWord, regexp } = options;
  return (
    <div className="toggles">
      <IconButton label="Match case" aria-pressed={caseSensitive} onClick={() => change({ caseSensitive: !caseSensitive })}>
        <CaseSensitive size={16} />
      </IconButton>
      <IconButton label="Whole words" aria-pressed={wholeWord} onClick={() => change({ wholeWord: !wholeWord })}>
        <WholeWord size={15} />
      </IconButton>
      <IconButton label="Regular expression" aria-pressed={regexp} onClick={() => change({ regexp: !regexp })}>
        <Regex size={14} />
      </IconButton>
    </div>
  );
}
