import type { Page } from "playwright-core";

const MIN_PIXELS = 40;
const CONTROLS = "button, a[href], input:not([type=checkbox]), select, summary, [role=tab], [role=treeitem]";

// The visible controls that are too small for a finger. A check box counts with its label, which is not measured here.
export function smallTargets(page: Page): Promise<string[]> {
  return page.locator(CONTROLS).evaluateAll(
    (controls, min) =>
      controls.flatMap((control) => {
        const { width, height } = control.getBoundingClientRect();
        // A link within a sentence is as high as its line. An element of one pixel is for screen readers.
        const isMeasured = width > 1 && height > 1 && control.checkVisibility({ visibilityProperty: true }) && !control.closest(".prose");
        // Half a pixel may be lost by rounding.
        const isSmall = isMeasured && (width < min - 0.5 || height < min - 0.5);
        return isSmall
          ? [`${control.getAttribute("aria-label") ?? control.textContent}: ${Math.round(width)} x ${Math.round(height)}`]
          : [];
      }),
    MIN_PIXELS,
  );
}
