const RETRY_MS = 2000;

// Loads a lazy module. If that fails, the server is down or serves a newer build, so the page reloads as soon as the server
// responds. Unsaved text, tabs and terminals survive a reload.
export function loadModule<Module>(load: () => Promise<Module>): Promise<Module> {
  return load().catch(reloadWhenServed);
}

async function reloadWhenServed(): Promise<never> {
  do await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  while (!(await isServed()));
  location.reload();
  return new Promise<never>(() => {});
}

const isServed = () =>
  fetch(location.pathname, { method: "HEAD" }).then(
    ({ ok }) => ok,
    () => false,
  );
