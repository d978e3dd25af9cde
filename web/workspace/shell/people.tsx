import "../styles/people.css";
import { Eye } from "lucide-react";
import type { Person } from "@berth/contract/workspace/together.ts";
import { useSandbox, useSandboxState } from "../state/context.ts";
import { othersIn } from "../state/together/together.ts";

const MAX_FACES = 5;

// The other people in the workspace. A click on a face follows that person.
export default function People() {
  const { together } = useSandbox();
  const state = useSandboxState("together", (current) => current);
  const others = othersIn(state);
  const { following } = state;
  const followed = others.find(({ id }) => id === following);
  return (
    <>
      {followed && (
        <span className="chip following" role="status">
          Following {followed.name}
        </span>
      )}
      <ul className="people" aria-label="People in this workspace">
        {others.slice(0, MAX_FACES).map((person) => (
          <li key={person.id}>
            <button
              type="button"
              className={`face person-${person.colour}`}
              data-initials={initialsOf(person.name)}
              aria-pressed={person.id === following}
              aria-label={describe(person)}
              title={`${describe(person)}. ${person.id === following ? "Stop following" : "Follow"}`}
              onClick={() => together.follow(person.id === following ? null : person.id)}
            >
              {person.role === "viewer" && <Eye size={10} className="viewer-mark" />}
            </button>
          </li>
        ))}
        {others.length > MAX_FACES && <li className="muted">+{others.length - MAX_FACES}</li>}
      </ul>
    </>
  );
}

const describe = ({ name, role, place }: Person): string =>
  `${name}${role === "viewer" ? " (viewing)" : ""}${place ? ` in ${place.path}` : ""}`;

// The first letters of the first and the last word.
function initialsOf(name: string): string {
  const words = name.trim().split(/\s+/);
  const first = (word = "") => Array.from(word)[0] ?? "";
  return (first(words[0]) + (words.length > 1 ? first(words.at(-1)) : "")).toUpperCase();
}
