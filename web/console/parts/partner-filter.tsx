import { useConsole } from "../connection/context.ts";
import { TextFilter } from "./text-filter.tsx";

// A partner sees only its own rows, so the filter is for operators.
export function PartnerFilter({ value = "", onChange }: { value?: string; onChange: (partner: string) => void }) {
  const { viewer } = useConsole();
  if (viewer.kind !== "operator") return null;
  return <TextFilter label="Partner" placeholder="All partners" value={value} onChange={onChange} />;
}
