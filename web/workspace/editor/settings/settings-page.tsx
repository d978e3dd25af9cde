import "../../styles/editor/settings.css";
import { Braces } from "lucide-react";
import { useState } from "react";
import {} from "../../state/context.ts";
import { useActions } from "../../actions/actions.ts";
import { SETTING_NAMES, SETTINGS, type SettingName } from "../../state/settings/schema.ts";
import { SettingRow } from "./setting-row.tsx";
import { GROUPS, SETTING_TEXTS } from "./setting-texts.ts";
import { isFound, SettingsHead } from "./settings-head.tsx";

// The personal settings as a page. In a chunk of its own.
export default function SettingsPage() {
  const { openPage } = useActions();
  const [query, setQuery] = useState("");
  const found = SETTING_NAMES.filter((name) => isMatch(name, query));
  return (
    <div className="settings">
      <SettingsHead label="Search settings" placeholder="Search settings" query={query} onQuery={setQuery}>
        <button type="button" className="button" onClick={() => openPage("settingsJson")}>
          <Braces size={14} />
          Edit as JSON
        </button>
      </SettingsHead>
      <div className="settings-body">
        {GROUPS.map((group) => {
          const names = found.filter((name) => SETTING_TEXTS[name].group === group);
          return (
            names.length > 0 && (
              <section key={group} aria-labelledby={`settings-${group}`}>
                <h2 id={`settings-${group}`}>{group}</h2>
                {names.map((name) => (
                  <SettingRow key={name} name={name} />
                ))}
              </section>
            )
          );
        })}
        <p className="muted" role="status">
          {found.length === 0 ? `No settings match "${query}".` : ""}
        </p>
        <p className="muted">Your settings apply to all of your workspaces.</p>
      </div>
    </div>
  );
}

function isMatch(name: SettingName, query: string): boolean {
  const { group, title, description } = SETTING_TEXTS[name];
  return isFound(`${SETTINGS[name].key} ${group} ${title} ${description}`, query);
}
