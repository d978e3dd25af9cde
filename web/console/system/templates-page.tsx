import type { ConsoleList, ConsoleTemplate } from "@berth/contract/console.ts";
import { useData } from "../connection/use-data.ts";
import { DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { count } from "../parts/format.ts";
import { Link } from "../parts/link.tsx";
import { TemplateFormPage } from "./template-form.tsx";

export const TemplatesPage = ({ rest: [part] }: { rest: string[] }) => (part === "new" ? <TemplateFormPage /> : <TemplateList />);

function TemplateList() {
  const { data, error } = useData<ConsoleList<ConsoleTemplate>>("/templates", {}, { everyMs: 5000 });
  return (
    <div className="page">
      <div className="head">
        <h1>Templates</h1>
        <span className="grow" />
        <Link to={["templates", "new"]} className="button">
          Write a template
        </Link>
      </div>
      <p className="muted">
        Templates come from the file that <code>BERTH_TEMPLATES</code> names.
      </p>
      <Failure message={error} />
      {data && (
        <DataTable
          label="Templates"
          rows={data.data}
          keyOf={({ name }) => name}
          empty="No templates."
          columns={[
            {
              name: "Template",
              value: ({ name }) => (
                <Link to={["sessions"]} query={{ template: name }}>
                  {name}
                </Link>
              ),
            },
            {
              name: "Description",
              value: ({ description, image, imageState }) => [description, image, imageState].filter(Boolean).join("; "),
            },
            { name: "CPUs", isNumber: true, value: ({ cpus }) => cpus },
            { name: "Memory", isNumber: true, value: ({ memoryMb }) => `${count(memoryMb)} MiB` },
            { name: "Disk", isNumber: true, value: ({ diskMb }) => `${count(diskMb)} MiB` },
            { name: "Processes", isNumber: true, value: ({ processes }) => count(processes) },
            { name: "Egress", value: ({ egress }) => egress },
            { name: "Agent", value: ({ agent }) => agent ?? "none" },
            { name: "Warm", isNumber: true, value: ({ pool }) => `${count(pool.warm)} of ${count(pool.target)}` },
          ]}
        />
      )}
    </div>
  );
}
