import { useEffect, useRef, type KeyboardEvent, type ReactNode } from "react";

export interface MenuItem {
  // Needed if several items have the same label.
  id?: string;
  label: string;
  icon?: ReactNode;
  shortcut?: string;
  danger?: boolean;
  // Marks the item of the current view.
  current?: boolean;
  // Draws a divider above this item.
  divided?: boolean;
  // The heading of this item and of those after it with the same one.
  group?: string;
  run: () => void;
}

export interface MenuProps {
  label: string;
  at: { x: number; y: number };
  items: MenuItem[];
  onClose: () => void;
}

// A context menu at a point on the screen. Escape closes it and restores the focus.
export function Menu({ label, at, items, onClose }: MenuProps) {
  const menu = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = menu.current;
    if (!element) return;
    const previousFocus = document.activeElement;
    element.showPopover();
    const { width, height } = element.getBoundingClientRect();
    element.style.left = `${Math.max(4, Math.min(at.x, innerWidth - width - 4))}px`;
    element.style.top = `${Math.max(4, Math.min(at.y, innerHeight - height - 4))}px`;
    element.querySelector("button")?.focus();
    return () => {
      if (previousFocus instanceof HTMLElement && element.contains(document.activeElement)) previousFocus.focus();
    };
  }, [at]);

  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(menu.current?.querySelectorAll("button") ?? [])];
    const current = buttons.findIndex((button) => button === document.activeElement);
    const next = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") onClose();
    else if (next === undefined) return;
    else buttons[(next + buttons.length) % buttons.length]?.focus();
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      ref={menu}
      popover="auto"
      role="menu"
      aria-label={label}
      tabIndex={-1}
      className="menu"
      onKeyDown={onKeyDown}
      onToggle={(event) => event.newState === "closed" && onClose()}
    >
      {items.map((item, index) => (
        <MenuButton
          key={item.id ?? item.label}
          item={item}
          heading={item.group === items[index - 1]?.group ? undefined : item.group}
          onClose={onClose}
        />
      ))}
    </div>
  );
}

function MenuButton({ item, heading, onClose }: { item: MenuItem; heading: string | undefined; onClose: () => void }) {
  return (
    <>
      {item.divided && <hr />}
      {heading !== undefined && (
        <div className="heading" role="presentation">
          {heading}
        </div>
      )}
      <button
        type="button"
        role="menuitem"
        className={item.danger ? "danger" : undefined}
        aria-current={item.current}
        aria-description={item.group}
        onClick={() => {
          onClose();
          item.run();
        }}
      >
        {item.icon}
        {item.label}
        {item.shortcut && <kbd>{item.shortcut}</kbd>}
      </button>
    </>
  );
}
