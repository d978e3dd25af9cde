// Keeps the reader's choices in this browser. If it refuses storage, they last until the next page.
export function readChoice(name: "theme" | "language"): string | null {
  try {
    return localStorage.getItem(`berth.docs.${name}`);
  } catch {
    return null;
  }
}

export function storeChoice(name: "theme" | "language", value: string): void {
  try {
    localStorage.setItem(`berth.docs.${name}`, value);
  } catch {
    // Private windows may refuse it.
  }
}
