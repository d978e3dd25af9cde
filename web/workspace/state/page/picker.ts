import { createStore } from "zustand/vanilla";

export interface PickerItem {
  id: string;
  label: string;
  // More about the item, in a lighter colour.
  detail?: string;
  run: () => void;
}

export interface PickerList {
  title: string;
  placeholder: string;
  items: PickerItem[];
  // Offers a new item for the typed text; null if that is not possible.
  offer?: (text: string) => PickerItem | null;
}

// Lets the person pick from a list by typing a part of a name.
export function createPicker() {
  const store = createStore<{ list: PickerList | null }>(() => ({ list: null }));
  return { store, open: (list: PickerList) => store.setState({ list }), close: () => store.setState({ list: null }) };
}
