/** Who does each activity in a run that is started: an agent, an agent with a person's approval, or a person. */
import { useMemo, type ReactNode } from "react";
import { listOf } from "../api/json";
import type { Dict } from "../api/types";
import type { StartOptions } from "../languages/contract";
import { useWords } from "../words";

const MODES = ["AUTONOMOUS", "SUPERVISED", "MANUAL"];
const TYPES = ["humanTask", "serviceTask"];

export function StartModes({ document, options, onChange }: { document: Dict; options: StartOptions; onChange: (options: StartOptions) => void }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const activities = useMemo(() => activitiesOf(document), [document]);
  if (activities.length === 0) return null;
  const choose = (id: string, mode: string) => {
    const { [id]: _, ...rest } = options;
    onChange(mode ? { ...rest, [id]: mode } : rest);
  };
  return (
    <details className="fold-plain">
      <summary>{d.modes}</summary>
      <div className="start-modes">
        {activities.map((activity) => (
          <label key={activity.id}><span className="grow">{activity.name}</span>
            <select className="input" value={options[activity.id] ?? ""} onChange={(event) => choose(activity.id, event.target.value)}>
              <option value="">{d.asWritten(t.work.modes[activity.mode] ?? activity.mode)}</option>
              {MODES.filter((mode) => mode !== activity.mode).map((mode) => <option key={mode} value={mode}>{t.work.modes[mode]}</option>)}
            </select>
          </label>
        ))}
      </div>
    </details>
  );
}

function activitiesOf(document: Dict): { id: string; name: string; mode: string }[] {
  return listOf(document["activities"]).filter((activity) => TYPES.includes(String(activity["type"])))
    .map((activity) => ({ id: String(activity["id"]), name: String(activity["name"] ?? activity["id"]), mode: String(activity["agent_mode"] ?? "MANUAL") }));
}
