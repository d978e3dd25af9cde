import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { fuzzyFilter } from "../palette/fuzzy.ts";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import type { PickerItem, PickerList } from "../state/page/picker.ts";

export function PickerDialog() {
  const list = useWorkspaceState("picker", (state) => state.list);
  return list && <OpenPicker key={list.title} list={list} />;
}

// A text field and the items that match it.
function OpenPicker({ list }: { list: PickerList }) {
  const { picker } = useWorkspace();
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const matching = fuzzyFilter(list.items, text, ({ label, detail }) => `${label} ${detail ?? ""}`);
  const offered = list.offer?.(text) ?? null;
  const items = offered === null ? matching : [...matching, offered];
  const current = items[Math.min(selected, items.length - 1)];

  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  });

  const choose = (item: PickerItem | undefined) => {
    if (!item) return;
    picker.close();
    item.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (event.key === "Enter") choose(current);
    else if (step !== undefined) setSelected((at) => Math.max(0, Math.min(items.length - 1, at + step)));
    else return;
    event.preventDefault();
  };

  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label={list.title}
      onClose={picker.close}
      onClick={(event) => event.target === dialog.current && picker.close()}
    >
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="picker-list"
        aria-activedescendant={current ? `pick-${items.indexOf(current)}` : undefined}
        aria-label={list.placeholder}
        placeholder={list.placeholder}
        spellCheck={false}
        value={text}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setText(event.target.value);
          setSelected(0);
        }}
      />
      {items.length === 0 && <div className="note">Nothing matches</div>}
      <ul id="picker-list" role="listbox" aria-label={list.title} hidden={items.length === 0}>
        {items.map((item, index) => (
          <li key={item.id} id={`pick-${index}`} role="option" aria-selected={item === current} onClick={() => choose(item)}>
            <span className="name truncate">{item.label}</span>
            {item.detail !== undefined && <span className="where truncate">{item.detail}</span>}
          </li>
        ))}
      </ul>
    </dialog>
  );
}
