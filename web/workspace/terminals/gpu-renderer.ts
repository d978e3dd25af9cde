import type { WebglAddon } from "@xterm/addon-webgl";
import type { Terminal } from "@xterm/xterm";
import type { PreferencesState } from "../state/page/preferences.ts";

export type GpuMode = PreferencesState["terminalGpu"];

export interface GpuRenderer extends Disposable {
  apply(mode: GpuMode): void;
}

// Draws a terminal with the GPU instead of HTML elements, which is several times faster. Browsers allow few such contexts, so only
// visible terminals have one. Without a GPU, or if the browser takes the context away, HTML elements remain. Both draw characters of
// slightly different widths.
export function createGpuRenderer(xterm: Terminal, onSwitched: () => void): GpuRenderer {
  let addon: WebglAddon | null = null;
  let wanted = false;
  let failed = false;

  function removeAddon(): void {
    if (!addon) return;
    addon.dispose();
    addon = null;
    onSwitched();
  }

  async function start(): Promise<void> {
    // Without it, the other renderer works as well, so that a failure needs no message.
    const loaded = await import("@xterm/addon-webgl").catch(() => null);
    if (!loaded || !wanted || addon) return;
    try {
      const created = new loaded.WebglAddon();
      created.onContextLoss(() => {
        failed = true;
        removeAddon();
      });
      xterm.loadAddon(created);
      addon = created;
      onSwitched();
    } catch {
      failed = true;
    }
  }

  return {
    apply(mode) {
      wanted = !failed && mode !== "off" && hasGpu(mode);
      if (!wanted) removeAddon();
      else if (!addon) void start();
    },
    [Symbol.dispose]() {
      wanted = false;
      removeAddon();
    },
  };
}

const known = new Map<GpuMode, boolean>();
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

// A browser without a GPU calculates the picture itself, which is slower than HTML elements. "auto" does not accept that.
function hasGpu(mode: GpuMode): boolean {
  const before = known.get(mode);
  if (before !== undefined) return before;
  const context = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: mode === "auto" });
  const found = context !== null && (mode === "on" || !SOFTWARE.test(rendererOf(context)));
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  known.set(mode, found);
  return found;
}

function rendererOf(context: WebGL2RenderingContext): string {
  const names = context.getExtension("WEBGL_debug_renderer_info");
  return String(context.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : context.RENDERER));
}
