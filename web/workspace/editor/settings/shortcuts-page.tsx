import "../../styles/editor/settings.css";
import { useMemo, useState } from "react";
import { formatShortcut } from "../../browser/shortcuts.ts";
import { createCommands } from "../../palette/commands/commands.ts";
import { usePage, useSandbox, useSession } from "../../state/context.ts";
import { useActions } from "../../actions/actions.ts";
import { isFound, SettingsHead } from "./settings-head.tsx";

// All commands that have keys. The same list is in the palette.
export default function ShortcutsPage() {
  const [page, sandbox, session, actions] = [usePage(), useSandbox(), useSession(), useActions()];
  const [query, setQuery] = useState("");
  const rows = useMemo(() => shortcutRows(createCommands(page, sandbox, session, actions)), [page, sandbox, session, actions]);
  const found = rows.filter(({ title, keys }) => isFound(`${title} ${keys.join(" ")}`, query));
  return (
    <div className="settings">
      <SettingsHead label="Search shortcuts" placeholder="Search commands and keys" query={query} onQuery={setQuery} />
      <div className="settings-body">
        <table className="shortcuts">
          <thead>
            <tr>
              <th scope="col">Command</th>
              <th scope="col">Keys</th>
            </tr>
          </thead>
          <tbody>
            {found.map(({ title, keys }) => (
              <tr key={title}>
                <td>{title}</td>
                <td>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <p className="muted" role="status">
          {found.length === 0 ? "No commands match." : ""}
        </p>
      </div>
    </div>
  );
}

// A command without a title is another shortcut of the one before.
function shortcutRows(commands: ReturnType<typeof createCommands>): { title: string; keys: string[] }[] {
  const rows: { title: string; keys: string[] }[] = [];
  for (const { title, shortcut } of commands) {
    if (title !== "") rows.push({ title, keys: [] });
    if (shortcut !== undefined) rows.at(-1)?.keys.push(formatShortcut(shortcut));
  }
  return rows.filter(({ keys }) => keys.length > 0);
}
