import { RotateCcw } from "lucide-react";
import { useId, useState } from "react";
import { IconButton } from "../../parts/icon-button.tsx";
import { usePage, usePageState } from "../../state/context.ts";
import { SETTINGS, type Setting, type SettingName, type SettingsState } from "../../state/settings/schema.ts";
import { faultOf } from "../../state/settings/values.ts";
import { SETTING_TEXTS } from "./setting-texts.ts";

export function SettingRow({ name }: { name: SettingName }) {
  const { preferences } = usePage();
  const value = usePageState("preferences", (state) => state[name]);
  const setting: Setting = SETTINGS[name];
  const { title, description } = SETTING_TEXTS[name];
  const standard = preferences.defaultOf(name);
  const isChosen = value !== standard.value;
  const id = useId();
  const set = (next: SettingsState[SettingName]) => preferences.set({ [name]: next });
  return (
    <div className="setting">
      <div className="setting-text">
        <label htmlFor={id}>{title}</label>
        <p id={`${id}-about`} className="muted">
          {description}
          {standard.isOfRepository && (isChosen ? " Your choice replaces that of the repository." : " The repository has chosen this.")}
        </p>
      </div>
      <div className="setting-control">
        {isChosen && (
          <IconButton label={`Reset ${title}`} onClick={() => preferences.reset(name)}>
            <RotateCcw size={14} />
          </IconButton>
        )}
        {/* A field that was reset starts with the new value. */}
        <Control key={isChosen ? "chosen" : String(standard.value)} id={id} setting={setting} value={value} onChange={set} />
      </div>
    </div>
  );
}

interface ControlProps {
  id: string;
  setting: Setting;
  value: string | number | boolean;
  onChange: (value: never) => void;
}

function Control({ id, setting, value, onChange }: ControlProps) {
  const change = onChange as (next: string | number | boolean) => void;
  const about = `${id}-about`;
  if (setting.type === "boolean")
    return (
      <input id={id} type="checkbox" aria-describedby={about} checked={value === true} onChange={(event) => change(event.target.checked)} />
    );
  if (setting.type === "choice")
    return (
      <select id={id} className="field" aria-describedby={about} value={String(value)} onChange={(event) => change(event.target.value)}>
        {Object.entries(setting.choices).map(([choice, label]) => (
          <option key={choice} value={choice}>
            {label}
          </option>
        ))}
      </select>
    );
  return <TypedControl id={id} setting={setting} value={value} onChange={change} />;
}

type Typed = Extract<Setting, { type: "number" | "text" }>;

// Applies the typed value as soon as it is allowed, and says why if it is not.
function TypedControl({
  id,
  setting,
  value,
  onChange,
}: {
  id: string;
  setting: Typed;
  value: unknown;
  onChange: (value: string | number) => void;
}) {
  const [text, setText] = useState(String(value));
  const read = (typed: string) => (setting.type === "number" ? (typed.trim() === "" ? Number.NaN : Number(typed)) : typed);
  const fault = faultOf(setting, read(text));
  return (
    <div className="setting-typed">
      <input
        id={id}
        className="field"
        type={setting.type === "number" ? "number" : "text"}
        aria-describedby={`${id}-about ${id}-fault`}
        aria-invalid={fault !== null}
        {...(setting.type === "number" ? { min: setting.min, max: setting.max } : { placeholder: setting.placeholder, spellCheck: false })}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          const next = read(event.target.value);
          if (faultOf(setting, next) === null) onChange(next);
        }}
      />
      {setting.type === "number" && setting.unit !== undefined && <span className="muted">{setting.unit}</span>}
      <p id={`${id}-fault`} className="setting-fault" role="status">
        {fault?.replace(setting.key, "This")}
      </p>
    </div>
  );
}
