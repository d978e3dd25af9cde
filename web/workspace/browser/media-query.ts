import { useSyncExternalStore } from "react";

const NARROW = "(max-width: 720px)";

// A screen with room for one panel at a time, such as a phone.
export const isNarrowScreen = (): boolean => matchMedia(NARROW).matches;

export const useIsNarrowScreen = (): boolean => useMediaQuery(NARROW);

function useMediaQuery(query: string): boolean {
  return useSyncExternalStore(
    (onChange) => {
      const media = matchMedia(query);
      media.addEventListener("change", onChange);
      return () => media.removeEventListener("change", onChange);
    },
    () => matchMedia(query).matches,
  );
}
