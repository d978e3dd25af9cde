import type { ButtonHTMLAttributes, ReactNode } from "react";

// A button that shows only a picture; its name is for the tooltip and for screen readers.
export function IconButton({
  label,
  children,
  className,
  ...rest
}: { label: string; children: ReactNode } & ButtonHTMLAttributes<HTMLButtonElement>) {
  return (
    <button type="button" {...rest} className={className ? `icon-button ${className}` : "icon-button"} aria-label={label} title={label}>
      {children}
    </button>
  );
}
