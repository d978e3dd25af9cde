import { createElement, useEffect, useState, type ComponentType, type ReactNode } from "react";
import { loadModule } from "./load-module.ts";

// A component in a chunk of its own. Unlike React's `lazy`, it appears at once if its chunk has been loaded: React delays what
// Suspense reveals for 300 ms after the last reveal.
export function lazyPart<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>, placeholder: ReactNode = null) {
  let loaded: ComponentType<Props> | null = null;
  const request = async () => (loaded = (await load()).default);
  function LazyPart(props: Props) {
    const [Loaded, setLoaded] = useState(() => loaded);
    useEffect(() => {
      if (!Loaded) void loadModule(request).then((component) => setLoaded(() => component));
    }, [Loaded]);
    return Loaded ? createElement(Loaded, props) : placeholder;
  }
  return Object.assign(LazyPart, { prefetch: request });
}
