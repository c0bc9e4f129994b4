/** The switch between the author's drawing, the net and the list. */
import { List, Waypoints } from "lucide-react";
import type { ReactNode } from "react";
import { Segment } from "../components";
import type { Drawing } from "../languages/contract";
import { useWords } from "../words";

/** The author's drawing goes by the name that its language gives it. */
export type DrawingView = "net" | "list" | (string & {});

export function ViewSwitch({ view, drawing, onView }: { view: DrawingView; drawing: Drawing | null; onView: (view: DrawingView) => void }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  return <Segment<DrawingView> label={d.looks} value={view} onChange={onView} options={[...(drawing ? [{ id: drawing.view, text: drawing.text, icon: drawing.icon }] : []), { id: "net", text: d.net, icon: Waypoints }, { id: "list", text: d.list, icon: List }]} />;
}
