import type { UsageReport } from "@berth/contract";
import { useState } from "react";
import { useConsole } from "../connection/context.ts";
import { useData } from "../connection/use-data.ts";
import { Failure } from "../parts/failure.tsx";
import { bytes, count } from "../parts/format.ts";
import { DayPlot } from "./day-plot.tsx";
import { download } from "../../workspace/browser/download.ts";

const MEASURES = {
  running: { title: "Running hours", value: (row: Row) => row.runningSeconds / 3600, format: (value: number) => value.toFixed(1) },
  cpu: { title: "CPU hours", value: (row: Row) => row.cpuSeconds / 3600, format: (value: number) => value.toFixed(2) },
  egress: { title: "Bytes sent", value: (row: Row) => row.egressBytes, format: bytes },
  tokens: { title: "Agent tokens", value: (row: Row) => row.inputTokens + row.outputTokens, format: count },
};
type Row = UsageReport["data"][number];
type Measure = keyof typeof MEASURES;

export function UsageByDay({ partnerId }: { partnerId: string }) {
  const { api } = useConsole();
  const { data, error } = useData<UsageReport>("/usage", { partner: partnerId });
  const [measure, setMeasure] = useState<Measure>("running");
  const [failure, setFailure] = useState<string | null>(null);
  const { title, value, format } = MEASURES[measure];

  const saveCsv = () =>
    api.text("/usage.csv", { partner: partnerId }).then(
      (text) => {
        const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
        download(url, `usage-${partnerId}.csv`);
        URL.revokeObjectURL(url);
      },
      (failed: Error) => setFailure(failed.message),
    );

  return (
    <>
      <div className="head">
        <h2>Usage by day</h2>
        <span className="grow" />
        <select
          className="field small"
          aria-label="Measure"
          value={measure}
          onChange={(event) => setMeasure(event.target.value as Measure)}
        >
          {Object.entries(MEASURES).map(([name, one]) => (
            <option key={name} value={name}>
              {one.title}
            </option>
          ))}
        </select>
        <button type="button" className="button" onClick={() => void saveCsv()}>
          Download CSV
        </button>
      </div>
      <Failure message={failure ?? error} />
      {data && (
        <DayPlot
          title={title}
          from={data.from}
          to={data.to}
          days={data.data.map((row) => ({ day: row.day ?? "", value: value(row) }))}
          format={format}
        />
      )}
    </>
  );
}
