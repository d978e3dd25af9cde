import { useState } from "react";
import { fuzzyFilter } from "./fuzzy.ts";
import { ChoiceDialog } from "../parts/choice-dialog.tsx";
import { usePage, usePageState } from "../state/context.ts";
import type { PickerItem, PickerList } from "../state/page/picker.ts";

export function PickerDialog() {
  const list = usePageState("picker", (state) => state.list);
  return list && <OpenPicker key={list.title} list={list} />;
}

// A text field and the items that match it.
function OpenPicker({ list }: { list: PickerList }) {
  const { picker } = usePage();
  const [text, setText] = useState("");
  const matching = fuzzyFilter(list.items, text, ({ label, detail }) => `${label} ${detail ?? ""}`);
  const offered = list.offer?.(text) ?? null;
  const items = offered === null ? matching : [...matching, offered];
  return (
    <ChoiceDialog
      title={list.title}
      field={list.placeholder}
      placeholder={list.placeholder}
      results={list.title}
      text={text}
      onText={setText}
      choices={items.map((item) => ({ id: item.id, run: item.run, content: <ItemContent item={item} /> }))}
      note={items.length === 0 ? "Nothing matches" : null}
      isCurrent
      onClose={picker.close}
    />
  );
}

const ItemContent = ({ item: { label, detail } }: { item: PickerItem }) => (
  <>
    <span className="name truncate">{label}</span>
    {detail !== undefined && <span className="where truncate">{detail}</span>}
  </>
);
