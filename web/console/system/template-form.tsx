import type { ConsoleTemplateCheck, TemplateForm } from "@berth/contract/console.ts";
import { useState, type ChangeEvent, type FormEvent } from "react";
import { useConsole } from "../connection/context.ts";
import { Failure } from "../parts/failure.tsx";
import { Field } from "../parts/form.tsx";
import { Link } from "../parts/link.tsx";

const EMPTY: TemplateForm = {
  name: "",
  description: "",
  image: "",
  root: "",
  cpus: "",
  memoryMb: "",
  diskMb: "",
  pids: "",
  egress: "",
  hosts: "",
  agent: "",
  setup: "",
  more: "",
};

// Writes a template for the templates file, checked by the server.
export function TemplateFormPage() {
  const { api } = useConsole();
  const [values, setValues] = useState(EMPTY);
  const [check, setCheck] = useState<ConsoleTemplateCheck | null>(null);
  const [failure, setFailure] = useState<string | null>(null);

  const bind = (name: keyof TemplateForm) => ({
    className: "field",
    value: values[name],
    onChange: ({ target }: ChangeEvent<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>) => {
      setValues({ ...values, [name]: target.value });
      setCheck(null);
    },
  });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setFailure(null);
    try {
      setCheck(await api.post<ConsoleTemplateCheck>("/templates/check", { body: values }));
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  const faultOf = (name: keyof TemplateForm) => {
    const messages = check?.faults.filter(({ field }) => field === name).map(({ message }) => message) ?? [];
    return messages.length === 0 ? undefined : messages.join("; ");
  };

  return (
    <div className="page">
      <nav aria-label="Breadcrumb">
        <Link to={["templates"]}>Templates</Link>
      </nav>
      <h1>Write a template</h1>
      <p className="muted">
        Empty fields keep the values of the default template. The server checks the template and shows the lines for the templates file. It
        does not change the file.
      </p>
      <form className="form card" noValidate onSubmit={(event) => void submit(event)}>
        <div className="columns wide">
          <Field label="Name" fault={faultOf("name")}>
            <input {...bind("name")} autoFocus />
          </Field>
          <Field label="Description" fault={faultOf("description")}>
            <input {...bind("description")} />
          </Field>
          <Field label="Image" help="Not for the process driver" fault={faultOf("image")}>
            <input {...bind("image")} />
          </Field>
          <Field label="Root" help="oci: the path of an unpacked root file system" fault={faultOf("root")}>
            <input {...bind("root")} />
          </Field>
          <Field label="CPUs" help="Default: 1" fault={faultOf("cpus")}>
            <input {...bind("cpus")} inputMode="decimal" />
          </Field>
          <Field label="Memory in MiB" help="Default: 2048" fault={faultOf("memoryMb")}>
            <input {...bind("memoryMb")} inputMode="numeric" />
          </Field>
          <Field label="Disk in MiB" help="Default: 10240" fault={faultOf("diskMb")}>
            <input {...bind("diskMb")} inputMode="numeric" />
          </Field>
          <Field label="Processes" help="Default: 512" fault={faultOf("pids")}>
            <input {...bind("pids")} inputMode="numeric" />
          </Field>
          <Field label="Network" fault={faultOf("egress")}>
            <select {...bind("egress")}>
              <option value="">public (default)</option>
              <option value="hosts">only some hosts</option>
              <option value="none">none</option>
            </select>
          </Field>
          {values.egress === "hosts" && (
            <Field label="Hosts" help="Such as pypi.org, *.github.com, git.example.com:2222" fault={faultOf("hosts")}>
              <input {...bind("hosts")} />
            </Field>
          )}
          <Field label="Agent" help="goose, opencode, none, or a command" fault={faultOf("agent")}>
            <input {...bind("agent")} />
          </Field>
          <Field label="Setup command" fault={faultOf("setup")}>
            <input {...bind("setup")} />
          </Field>
        </div>
        <Field label="Further fields" help="YAML, such as: env: {PIP_INDEX_URL: https://pypi.example.com}" fault={faultOf("more")}>
          <textarea {...bind("more")} className="field mono" rows={4} spellCheck={false} />
        </Field>
        <Failure message={failure} />
        <div className="row">
          <button className="button primary">Check</button>
        </div>
      </form>
      {check?.yaml != null && <CheckedTemplate yaml={check.yaml} replaces={check.replaces} />}
    </div>
  );
}

function CheckedTemplate({ yaml, replaces }: { yaml: string; replaces: boolean }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => {
    navigator.clipboard.writeText(yaml).then(
      () => setCopied(true),
      () => {},
    );
  };
  return (
    <section aria-label="The template" className="form">
      <p role="status">
        The template is valid. Add it to the file that <code>BERTH_TEMPLATES</code> names, and start the server again.
        {replaces && " It replaces the template of this name."}
      </p>
      <pre className="secret mono">{yaml}</pre>
      <div className="row">
        <button type="button" className="button" onClick={copy}>
          {isCopied ? "Copied" : "Copy"}
        </button>
      </div>
    </section>
  );
}
