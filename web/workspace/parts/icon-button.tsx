import type { ButtonHTMLAttributes, ReactNode } from "react";

// A button with only an icon. Tooltip and screen readers show the label.
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
