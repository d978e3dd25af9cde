// The console has no settings of its own, so it looks as the system says.
export function followSystemTheme(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => void (document.documentElement.dataset["theme"] = dark.matches ? "dark" : "light");
  dark.addEventListener("change", apply);
  apply();
}
