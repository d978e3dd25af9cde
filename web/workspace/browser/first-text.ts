// The first text on the screen is what a person waits for; whatever is heavy and can wait does so until then.
const PATIENCE_MS = 800;

let drawn = () => {};
const shown = new Promise<void>((resolve) => (drawn = resolve));

export const firstTextDrawn = () => drawn();

// Resolves after the first text was painted, or soon when there is none to show.
export async function afterFirstText(): Promise<void> {
  await Promise.race([shown, new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
  await new Promise((resolve) => setTimeout(resolve));
}
