// Copies text. Browsers offer the clipboard API only to pages from https or localhost, and in a frame only if the embedding
// page allows it. Copying a selection works everywhere during a click or key press.
export async function copyText(text: string): Promise<void> {
  const { clipboard } = navigator as { clipboard?: Clipboard };
  const copied = await clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  if (!copied && !copySelection(text)) throw new Error("The browser does not allow it. Select the text and press Ctrl+C");
}

function copySelection(text: string): boolean {
  const previousFocus = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  field.style.opacity = "0";
  // Content outside of an open dialog is inert and cannot be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (previousFocus instanceof HTMLElement) previousFocus.focus();
  return copied;
}
