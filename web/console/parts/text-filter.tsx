import { useEffect, useRef, useState } from "react";

const TYPING_MS = 250;

// The filter changes when the typing stops for a moment, because each change reads from the server.
export function TextFilter({
  label,
  placeholder,
  value,
  onChange,
}: {
  label: string;
  placeholder: string;
  value: string;
  onChange: (text: string) => void;
}) {
  const [text, setText] = useState(value);
  const apply = useRef(onChange);
  apply.current = onChange;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => apply.current(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <input
      className="field"
      type="search"
      aria-label={label}
      placeholder={placeholder}
      spellCheck={false}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
