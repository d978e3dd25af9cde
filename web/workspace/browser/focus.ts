// Whether the keyboard focus is in an element that matches the selector.
export const isFocusWithin = (selector: string): boolean => document.activeElement?.closest(selector) != null;
