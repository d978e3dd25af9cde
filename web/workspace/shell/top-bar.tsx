import { Eye, Moon, PanelBottom, PanelLeft, Search, Sparkles, Sun, SunMoon } from "lucide-react";
import { lazy, Suspense } from "react";
import { loadModule } from "../browser/load-module.ts";
import { usePage, usePageState, useSandboxState, useSession, useSessionState } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { formatShortcut } from "../browser/shortcuts.ts";
import { Logo } from "../parts/logo.tsx";
import { isAgentHidden, isReconnecting } from "../state/session/session-store.ts";
import { TimeLeft } from "../session/time-left.tsx";
import type { Theme } from "../state/page/preferences.ts";

export function TopBar() {
  const { palette, layout } = usePage();
  const { mayEdit } = useSession();
  const { toggleTerminals } = useActions();
  const partner = useSessionState((state) => state.session?.partnerName ?? "Workspace");
  const logo = useSessionState((state) => state.session?.branding.logo ?? null);
  const hideAgent = useSessionState(isAgentHidden);
  const { sideOpen, terminalsOpen, agentOpen } = usePageState("layout", (state) => state);
  return (
    <header className="top-bar">
      <div className="side">
        <h1 className="partner" style={{ fontSize: "inherit" }}>
          <Logo image={logo} />
          <span className="truncate">{partner}</span>
        </h1>
      </div>
      <button type="button" className="go" onClick={() => palette.open("files")}>
        <Search size={14} />
        <span className="grow truncate">Go to file</span>
        <kbd>{formatShortcut("Mod+P")}</kbd>
      </button>
      <div className="side end">
        {!mayEdit && (
          <span className="chip" title="Your link lets you see this workspace, but not change it">
            <Eye size={13} />
            <span className="view-only">View only</span>
          </span>
        )}
        <Others />
        <Reconnecting />
        <TimeLeft />
        <ThemeButton />
        <IconButton label="Side panel" aria-pressed={sideOpen} onClick={() => layout.toggle("sideOpen")}>
          <PanelLeft size={16} />
        </IconButton>
        <IconButton label="Terminals" aria-pressed={terminalsOpen} onClick={() => toggleTerminals()}>
          <PanelBottom size={16} />
        </IconButton>
        {!hideAgent && (
          <IconButton label="Agent" aria-pressed={agentOpen} onClick={() => layout.toggle("agentOpen")}>
            <Sparkles size={16} />
          </IconButton>
        )}
      </div>
    </header>
  );
}

const People = lazy(() => loadModule(() => import("./people.tsx")));

function Others() {
  const isAlone = useSandboxState("together", ({ people }) => people.length < 2);
  return (
    !isAlone && (
      <Suspense>
        <People />
      </Suspense>
    )
  );
}

function Reconnecting() {
  const reconnecting = useSessionState(isReconnecting);
  return (
    <span role="status">
      {reconnecting && (
        <span className="chip warn">
          <span className="spinner" style={{ width: 11, height: 11 }} />
          <span className="phone-hidden">Reconnecting…</span>
        </span>
      )}
    </span>
  );
}

const themes: Record<Theme, { next: Theme; label: string; icon: typeof Sun }> = {
  system: { next: "light", label: "Theme: system. Switch to light", icon: SunMoon },
  light: { next: "dark", label: "Theme: light. Switch to dark", icon: Sun },
  dark: { next: "system", label: "Theme: dark. Switch to system", icon: Moon },
};

function ThemeButton() {
  const { preferences } = usePage();
  const { next, label, icon: Icon } = themes[usePageState("preferences", (state) => state.theme)];
  return (
    <IconButton className="theme" label={label} onClick={() => preferences.set({ theme: next })}>
      <Icon size={16} />
    </IconButton>
  );
}
