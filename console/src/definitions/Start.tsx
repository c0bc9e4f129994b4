/** Starting a run: a form from the document's input schema, else JSON; of a process also who does what this time. */
import { Play } from "lucide-react";
import { useMemo, useState, type FormEvent, type ReactNode } from "react";
import { newKey } from "../api/client";
import type { Dict, Json, Schema } from "../api/types";
import { checkAll } from "../inbox/check";
import { SchemaForm } from "../inbox/Form";
import { Button } from "../parts";
import { Dialog, type Anchor } from "../parts/Dialog";
import { go } from "../shell/router";
import { useWords } from "../words";
import { errorText } from "../words/said";
import { start } from "./sending";

interface Props {
  name: string;
  title: string;
  language: string;
  version: number;
  schema: Schema | null;
  document: Dict;
  anchor: Anchor | null;
  onClose: () => void;
}

const MODES = ["AUTONOMOUS", "SUPERVISED", "MANUAL"];

export function Start({ name, title, language, version, schema, document, anchor, onClose }: Props): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const [form, setForm] = useState<Dict>({});
  const [text, setText] = useState("");
  const [modes, setModes] = useState<Record<string, string>>({});
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  const fields = schema?.properties && Object.keys(schema.properties).length > 0 ? schema : null;
  const activities = useMemo(() => agents(document, language), [document, language]);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    let input: Json = {};
    if (fields) {
      const checked = checkAll(fields, form, t.inbox);
      setErrors(checked.errors);
      if (Object.keys(checked.errors).length > 0) return;
      input = checked.clean;
    } else if (text.trim()) {
      try {
        input = JSON.parse(text) as Json;
      } catch {
        setError(t.run.badJson);
        return;
      }
    }
    setBusy(true);
    setError(null);
    try {
      go(`/runs/${encodeURIComponent(await start(name, language, version, input, modes, key))}`);
    } catch (problem) {
      setError(errorText(problem, t));
      setBusy(false);
    }
  };
  return (
    <Dialog label={d.startTitle(title)} look="window" anchor={anchor} onClose={onClose}>
      <form className="move-form" onSubmit={(event) => void submit(event)}>
        <h2>{d.startTitle(title)}</h2>
        {fields ? <SchemaForm schema={fields} value={form} errors={errors} disabled={busy} onChange={(next) => { setErrors({}); setForm(next); }} />
          : <label><span className="label">{d.input}<span className="dim">{t.common.optional}</span></span><textarea className="input mono" rows={4} value={text} placeholder="{ }" onChange={(event) => { setError(null); setText(event.target.value); }} /></label>}
        {activities.length > 0 && (
          <details className="fold-plain">
            <summary>{d.modes}</summary>
            <div className="start-modes">
              {activities.map((one) => (
                <label key={one.id}><span className="grow">{one.name}</span>
                  <select className="input" value={modes[one.id] ?? ""} onChange={(event) => setModes(({ [one.id]: _, ...rest }) => (event.target.value ? { ...rest, [one.id]: event.target.value } : rest))}>
                    <option value="">{d.asWritten(t.work.modes[one.mode] ?? one.mode)}</option>
                    {MODES.filter((mode) => mode !== one.mode).map((mode) => <option key={mode} value={mode}>{t.work.modes[mode]}</option>)}
                  </select>
                </label>
              ))}
            </div>
          </details>
        )}
        {error && <p className="bad" role="alert">{error}</p>}
        <div className="dialog-foot"><Button data-first onClick={onClose}>{t.inbox.notNow}</Button><Button type="submit" look="primary" icon={Play} disabled={busy}>{d.startDo}</Button></div>
      </form>
    </Dialog>
  );
}

function agents(document: Dict, language: string): { id: string; name: string; mode: string }[] {
  const all = language === "process" && Array.isArray(document["activities"]) ? document["activities"] : [];
  return all.flatMap((one) => {
    if (one === null || typeof one !== "object" || Array.isArray(one) || !["humanTask", "serviceTask"].includes(String(one["type"]))) return [];
    return [{ id: String(one["id"]), name: String(one["name"] ?? one["id"]), mode: String(one["agent_mode"] ?? "MANUAL") }];
  });
}
