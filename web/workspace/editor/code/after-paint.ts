// A page in the background draws no frames.
const MAX_WAIT_MS = 800;

// Resolves when what was just added to the page is on the screen: when the browser asks for the frame after next.
export const afterPaint = (): Promise<void> =>
  new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
    setTimeout(resolve, MAX_WAIT_MS);
  });
