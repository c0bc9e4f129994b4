/** The button that brings the log of another system: XES or CSV, also packed. */
import { FileInput } from "lucide-react";
import { useRef, useState, type ReactNode } from "react";
import { Button } from "../../components";
import { Dialog } from "../../components/Dialog";
import { toast } from "../../components/toast";
import { may, useSession } from "../../shell/session";
import { errorText } from "../../words/errorText";
import { importLog, MOST_BYTES } from "./requests";
import { useMiningWords } from "./speech";
import type { MiningLog } from "./types";

export function ImportLog({ process = null, onDone, look }: { process?: string | null; onDone: (log: MiningLog) => void; look?: "primary" }): ReactNode {
  const { t, m, f } = useMiningWords();
  const { me } = useSession();
  const input = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const read = async (file: File | undefined) => {
    if (!file) return;
    setProblem(null);
    if (file.size > MOST_BYTES) { setProblem(m.tooLarge(f.bytes(file.size))); return; }
    setBusy(true);
    try {
      const log = await importLog(file, process);
      toast(m.imported(log.name, f.number(log.cases)));
      onDone(log);
    } catch (error) {
      setProblem(errorText(error, t));
    }
    setBusy(false);
  };
  if (!may(me, "definition.write")) return null;
  return (
    <>
      <input ref={input} type="file" hidden data-log accept=".xes,.csv,.gz,.xml,.txt" onChange={(event) => { void read(event.target.files?.[0]); event.target.value = ""; }} />
      <Button look={look ?? "plain"} icon={FileInput} disabled={busy} onClick={() => input.current?.click()}>{busy ? m.importing : m.importLog}</Button>
      {problem && (
        <Dialog label={m.importFailed} onClose={() => setProblem(null)}>
          <h2>{m.importFailed}</h2>
          <p role="alert">{problem}</p>
          <div className="dialog-foot"><Button data-first onClick={() => setProblem(null)}>{t.nav.close}</Button></div>
        </Dialog>
      )}
    </>
  );
}
