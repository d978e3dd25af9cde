// The first text on the screen is what people wait for, then its colours and the terminal. Heavy work that can wait starts after it.
const MAX_WAIT_MS = 800;
const REST_MS = 500;

const shown = Promise.withResolvers<void>();

const waited = new Promise<void>((resolve) => setTimeout(resolve, MAX_WAIT_MS));

// The first text is on the screen with its colours, or what an empty workspace shows instead.
export const markFirstText = (): void => shown.resolve();

// Resolves after the first text is shown, or after a short wait if there is none.
export async function afterFirstText(): Promise<void> {
  await Promise.race([shown.promise, waited]);
  await new Promise((resolve) => setTimeout(resolve));
}

let screenShown: Promise<void> | null = null;

// For what the first screen does not show.
export const afterFirstScreen = (): Promise<void> =>
  (screenShown ??= afterFirstText().then(() => new Promise((resolve) => setTimeout(resolve, REST_MS))));
