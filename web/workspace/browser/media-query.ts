import { useSyncExternalStore } from "react";

const NARROW = "(max-width: 720px)";

// A screen with room for one panel at a time, such as a phone.
export const isNarrowScreen = (): boolean => matchMedia(NARROW).matches;

// A screen without room for the side panel beside the editor. The panel covers a part of the editor instead.
const COMPACT = "(max-width: 1199px)";
export const isCompactScreen = (): boolean => matchMedia(COMPACT).matches;
export const useIsCompactScreen = (): boolean => useMediaQuery(COMPACT);

// Fingers are the main way to point, as on phones and tablets.
const TOUCH = "(pointer: coarse)";
export const isTouchScreen = (): boolean => matchMedia(TOUCH).matches;
export const useIsTouchScreen = (): boolean => useMediaQuery(TOUCH);

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
