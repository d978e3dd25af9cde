import { storeChoice } from "./storage.ts";

// The bar at the top, and the navigation on a phone.
export function wireFrame(): void {
  wireTheme();
  wireNavigation();
  wireContents();
  closeMenuOutside(document.querySelector<HTMLDetailsElement>(".versions")!);
  document.querySelector(".navigation [aria-current]")?.scrollIntoView({ block: "nearest" });
}

function wireTheme(): void {
  const { dataset } = document.documentElement;
  const button = document.querySelector<HTMLButtonElement>("#switch-theme")!;
  const show = () => button.setAttribute("aria-pressed", String(dataset.theme === "dark"));
  show();
  button.addEventListener("click", () => {
    dataset.theme = dataset.theme === "dark" ? "light" : "dark";
    storeChoice("theme", dataset.theme);
    show();
  });
}

function wireNavigation(): void {
  const button = document.querySelector<HTMLButtonElement>("#open-navigation")!;
  const { dataset } = document.documentElement;
  const show = (isOpen: boolean) => {
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) dataset.navigation = "open";
    else delete dataset.navigation;
  };
  button.addEventListener("click", () => show(dataset.navigation !== "open"));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || dataset.navigation !== "open") return;
    show(false);
    button.focus();
  });
  document.querySelector("#navigation")!.addEventListener("click", (event) => {
    if ((event.target as Element).closest("a")) show(false);
  });
}

// Beside the page the list of its sections is open, above it closed.
function wireContents(): void {
  const details = document.querySelector<HTMLDetailsElement>(".contents details");
  if (!details) return;
  const isBeside = matchMedia("(min-width: 1181px)");
  const show = () => (details.open = isBeside.matches);
  isBeside.addEventListener("change", show);
  show();
}

function closeMenuOutside(menu: HTMLDetailsElement): void {
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target as Node) || (event.target as Element).closest("a")) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary")!.focus();
  });
}
