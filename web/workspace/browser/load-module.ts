const PAUSE_MS = 2000;

// Loads a part of the app that was not needed until now. Where that fails the server is away, or has been replaced by one with
// a newer app: the page starts anew as soon as somebody answers. Texts, tabs and terminals survive that, as any reload.
export function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  return load().catch(startAnew);
}

async function startAnew(): Promise<never> {
  do await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  while (!(await isServed()));
  location.reload();
  return new Promise<never>(() => {});
}

const isServed = () =>
  fetch(location.pathname, { method: "HEAD" }).then(
    ({ ok }) => ok,
    () => false,
  );
