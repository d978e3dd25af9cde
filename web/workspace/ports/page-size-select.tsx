// The sizes at which a page can be looked at.
const pageSizes = {
  fit: { label: "Fit", size: null },
  phone: { label: "Phone, 390 × 844", size: { width: 390, height: 844 } },
  tablet: { label: "Tablet, 820 × 1180", size: { width: 820, height: 1180 } },
  desktop: { label: "Desktop, 1440 × 900", size: { width: 1440, height: 900 } },
};

export type PageSize = keyof typeof pageSizes;

// The style of a frame. A frame that is larger than its place scrolls.
export const frameSize = (pageSize: PageSize): { width: number; height: number } | { width: string; height: string } =>
  pageSizes[pageSize].size ?? { width: "100%", height: "100%" };

export function PageSizeSelect({ value, onChange }: { value: PageSize; onChange: (pageSize: PageSize) => void }) {
  return (
    <select aria-label="Size of the page" value={value} onChange={(event) => onChange(event.target.value as PageSize)}>
      {Object.entries(pageSizes).map(([id, { label }]) => (
        <option key={id} value={id}>
          {label}
        </option>
      ))}
    </select>
  );
}
