/** Starting a run: a form from the document's input schema, else JSON, and the options of its language. */
import { Play } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { newKey } from "../api/client";
import type { Dict, Json, Schema } from "../api/types";
import { checkAll } from "../inbox/validation";
import { SchemaForm } from "../inbox/SchemaForm";
import { Button } from "../components";
import { Dialog, type Anchor } from "../components/Dialog";
import { languageOf } from "../languages";
import type { StartOptions } from "../languages/contract";
import { go } from "../shell/router";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { startRun } from "./requests";

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

export function StartDialog({ name, title, language, version, schema, document, anchor, onClose }: Props): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const [form, setForm] = useState<Dict>({});
  const [text, setText] = useState("");
  const [options, setOptions] = useState<StartOptions>({});
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  const fields = schema?.properties && Object.keys(schema.properties).length > 0 ? schema : null;
  const Options = languageOf(language).document?.start?.Options;
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
      go(`/runs/${encodeURIComponent(await startRun(name, language, version, input, options, key))}`);
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
        {Options && <Options document={document} options={options} onChange={setOptions} />}
        {error && <p className="bad" role="alert">{error}</p>}
        <div className="dialog-foot"><Button data-first onClick={onClose}>{t.inbox.notNow}</Button><Button type="submit" look="primary" icon={Play} disabled={busy}>{d.startDo}</Button></div>
      </form>
    </Dialog>
  );
}
