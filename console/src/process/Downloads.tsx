/** The files of a process: its drawing for a modeler, and its event log for a mining tool. */
import { Download, FileDown } from "lucide-react";
import { useState, type ReactNode } from "react";
import { BASE } from "../api/client";
import { Button } from "../components";
import { anchorOf, Dialog, type Anchor } from "../components/Dialog";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { bpmnPath, eventLogPath } from "./requests";

/** `drawn`: there is something to draw. */
export function Downloads({ name, version, drawn }: { name: string; version: number; drawn: boolean }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const { me } = useSession();
  const [menu, setMenu] = useState<Anchor | null>(null);
  const files = [
    { text: d.asBpmn, file: `${name}.bpmn`, path: bpmnPath(name, version), shown: drawn },
    { text: d.asXes, file: `${name}.xes`, path: eventLogPath(name, "xes"), shown: may(me, "run.read") },
    { text: d.asJsonLog, file: `${name}-events.json`, path: eventLogPath(name, "json"), shown: may(me, "run.read") },
  ].filter(({ shown }) => shown);
  return (
    <>
      <Button look="quiet" icon={Download} aria-haspopup="dialog" onClick={(event) => setMenu(anchorOf(event.currentTarget))}>{d.download}</Button>
      {menu && (
        <Dialog label={d.download} look="popover" anchor={menu} onClose={() => setMenu(null)}>
          <ul className="menu">{files.map(({ text, file, path }) => <li key={file}><a href={BASE + path} download={file} onClick={() => setMenu(null)}><FileDown size={16} aria-hidden /><span className="grow">{text}</span></a></li>)}</ul>
        </Dialog>
      )}
    </>
  );
}
