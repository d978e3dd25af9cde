import type { Page } from "./page.ts";
import type { Session } from "./session.ts";

// A partner's accent colour, made darker or lighter until text in it can be read (WCAG: a contrast of 4.5).

const MIN_CONTRAST = 4.5;
// The most difficult backgrounds of each theme: those of selected rows in styles/tokens.css.
const BACKGROUNDS = { light: "#dfe8fb", dark: "#24344f" };
const TEXTS = ["#ffffff", "#0d1b36"];

export function accentFor(colour: string, theme: "light" | "dark"): { accent: string; accentText: string } {
  const towards = theme === "light" ? 0 : 255;
  let accent = colour.toLowerCase();
  for (let step = 1; contrast(accent, BACKGROUNDS[theme]) < MIN_CONTRAST && step <= 20; step++) accent = mix(colour, towards, step / 20);
  const accentText = TEXTS.toSorted((a, b) => contrast(accent, b) - contrast(accent, a))[0]!;
  return { accent, accentText };
}

export function contrast(a: string, b: string): number {
  const [darker, lighter] = [luminance(a), luminance(b)].toSorted((one, other) => one - other) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = channels(colour).map((value) => {
    const share = value / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const channels = (colour: string): number[] => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

const mix = (colour: string, towards: number, share: number): string =>
  `#${channels(colour)
    .map((value) =>
      Math.round(value + (towards - value) * share)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;

// Gives the page the partner's accent colour, adapted to the theme.
export function applyAccent(session: Pick<Session, "store">, { preferences }: Pick<Page, "preferences">): void {
  const { dataset, style } = document.documentElement;
  const apply = () => {
    const colour = session.store.getState().session?.branding.accent ?? null;
    const { accent, accentText } = colour === null ? { accent: "", accentText: "" } : accentFor(colour, themeOf(dataset));
    // An empty value restores that of the style sheet.
    style.setProperty("--accent", accent);
    style.setProperty("--accent-text", accentText);
  };
  session.store.subscribe((now, before) => {
    if (now.session?.branding.accent !== before.session?.branding.accent) apply();
  });
  preferences.onApplied(apply);
  apply();
}

const themeOf = (dataset: DOMStringMap) => (dataset["theme"] === "dark" ? "dark" : "light");
