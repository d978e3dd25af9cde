// The first text on the screen is what people wait for, then its colours and the terminal. Heavy work that can wait starts after it.
const MAX_WAIT_MS = 800;
const REST_MS = 500;

const shown = Promise.withResolvers<void>();

// The first text is on the screen with its colours.
export const markFirstText = (): void => shown.resolve();

// Resolves after the first text is shown, or after a short wait if there is none.
export async function afterFirstText(): Promise<void> {
  await Promise.race([shown.promise, new Promise((resolve) => setTimeout(resolve, MAX_WAIT_MS))]);
  await new Promise((resolve) => setTimeout(resolve));
}

// For what the first screen does not show.
export const afterFirstScreen = () => afterFirstText().then(() => new Promise((resolve) => setTimeout(resolve, REST_MS)));
