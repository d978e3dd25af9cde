import { SlidersHorizontal } from "lucide-react";
import { useId, useRef } from "react";
import type { AgentOption, Conversation } from "@berth/contract/agent.ts";
import { useAgent } from "../../state/use-agent.ts";
import { humanize } from "../../text/humanize.ts";

// The agent's other options, besides its modes and models.
export function OptionMenu({ conversation: { id, options } }: { conversation: Conversation }) {
  const agent = useAgent();
  const menuId = useId();
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  if (options.length === 0) return null;
  // Above the button, and inside the window.
  const place = () => {
    const box = button.current?.getBoundingClientRect();
    if (!box || !menu.current) return;
    menu.current.style.bottom = `${innerHeight - box.top + 4}px`;
    menu.current.style.left = `${Math.max(4, Math.min(box.left, innerWidth - menu.current.offsetWidth - 4))}px`;
  };
  return (
    <>
      <button ref={button} type="button" className="icon-button" aria-label="Agent options" title="Agent options" popoverTarget={menuId}>
        <SlidersHorizontal size={15} />
      </button>
      <div
        ref={menu}
        id={menuId}
        popover="auto"
        role="dialog"
        aria-label="Agent options"
        className="menu agent-options"
        onToggle={({ newState }) => newState === "open" && place()}
      >
        {options.map((option) => (
          <OptionField key={option.id} option={option} onChoose={(value) => agent.setOption(id, option.id, value)} />
        ))}
      </div>
    </>
  );
}

function OptionField({ option, onChoose }: { option: AgentOption; onChoose: (value: string | boolean) => void }) {
  const hint = useId();
  const name = humanize(option.name);
  return (
    <div className="agent-option">
      {option.type === "boolean" ? (
        <label className="tick">
          <input
            type="checkbox"
            checked={option.current}
            aria-describedby={option.description && hint}
            onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
          />
          {name}
        </label>
      ) : (
        <label>
          {name}
          <select
            className="field"
            value={option.current}
            aria-describedby={option.description && hint}
            onChange={({ currentTarget }) => onChoose(currentTarget.value)}
          >
            {option.available.map((choice) => (
              <option key={choice.id} value={choice.id} title={choice.description}>
                {humanize(choice.name)}
              </option>
            ))}
          </select>
        </label>
      )}
      {option.description && (
        <p className="muted" id={hint}>
          {option.description}
        </p>
      )}
    </div>
  );
}
