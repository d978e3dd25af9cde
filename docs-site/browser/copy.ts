const SHOWN_MS = 2_000;

// A button on every block of code.
export function addCopyButtons(): void {
  for (const block of document.querySelectorAll<HTMLElement>(".prose .code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", () => {
      void copy(block.querySelector("pre")!).then((isCopied) => {
        button.textContent = isCopied ? "Copied" : "Press Ctrl+C";
        setTimeout(() => (button.textContent = "Copy"), SHOWN_MS);
      });
    });
    block.append(button);
  }
}

// Browsers allow the clipboard only over https and on localhost. Elsewhere the code is selected, so that Ctrl+C copies it.
async function copy(code: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection()!.selectAllChildren(code);
    return false;
  }
}
