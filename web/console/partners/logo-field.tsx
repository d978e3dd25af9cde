import type { ChangeEvent } from "react";
import { Field } from "../parts/form.tsx";

interface Props {
  // A data: URL; empty for Berth's own.
  logo: string;
  fault: string | undefined;
  onChange: (logo: string) => void;
}

export function LogoField({ logo, fault, onChange }: Props) {
  const choose = ({ target }: ChangeEvent<HTMLInputElement>) => {
    const file = target.files?.[0];
    if (!file) return;
    const reader = new FileReader();
    reader.addEventListener("load", () => onChange(reader.result as string));
    reader.readAsDataURL(file);
  };
  return (
    <>
      <Field label="Logo" help="An .svg, .png, .webp or .jpg file of at most 16 KiB" fault={fault}>
        <input type="file" accept=".svg,.png,.webp,.jpg" onChange={choose} />
      </Field>
      {logo !== "" && (
        <div className="row">
          <img className="logo-preview" src={logo} alt="The logo" />
          <button type="button" className="button small" onClick={() => onChange("")}>
            Remove the logo
          </button>
        </div>
      )}
    </>
  );
}
