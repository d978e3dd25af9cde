import { accentFor } from "./accent.ts";
import type { Page } from "./page.ts";
import type { Session } from "./session.ts";

// Gives the page the partner's accent colour, adapted to the theme.
export function applyAccent(session: Session, { preferences }: Pick<Page, "preferences">): void {
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
