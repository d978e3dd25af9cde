export function element(tag: string, className: string, text = ""): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

export function button(text: string, title: string, run: () => void): HTMLElement {
  const made = element("button", "button small", text);
  made.setAttribute("type", "button");
  made.title = title;
  made.setAttribute("aria-label", title);
  made.addEventListener("click", run);
  return made;
}
