// The first text on the screen is what people wait for. Heavy work that can wait starts after it.
const MAX_WAIT_MS = 800;

const painted = Promise.withResolvers<void>();

export const markFirstTextPainted = (): void => painted.resolve();

// Resolves after the first text is painted, or after a short wait if there is none.
export async function afterFirstText(): Promise<void> {
  await Promise.race([painted.promise, new Promise((resolve) => setTimeout(resolve, MAX_WAIT_MS))]);
  await new Promise((resolve) => setTimeout(resolve));
}
