// What the reader chose, kept in this browser. A browser that refuses storage forgets it.
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
