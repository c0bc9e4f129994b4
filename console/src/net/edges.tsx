/** Edges along the layout's points: taken ones are bold, those not taken dotted, and tokens move along them. */
import type { Edge, EdgeProps } from "@xyflow/react";
import { memo, type ReactNode } from "react";
import type { Box, Point } from "./layout";
import { pathOf } from "./layout";
import { useView } from "./view";

export interface NetEdgeData extends Record<string, unknown> {
  points: Point[];
  label: string | null;
  box: Box | null;
}

export type NetEdge = Edge<NetEdgeData, "net">;

export const NetEdgeView = memo(function NetEdgeView({ id, data }: EdgeProps<NetEdge>): ReactNode {
  const look = useView((view) => (view.taken.has(id) ? "taken" : view.notTaken.has(id) ? "not" : "open"));
  const tokens = useView((view) => view.edgeTokens.get(id) ?? 0) as number;
  const flight = useView((_, store) => store.flights.get(id) ?? 0);
  const points = data?.points ?? [];
  const end = points.at(-1);
  const before = points.at(-2);
  if (!end || !before) return null;
  const angle = Math.atan2(end.y - before.y, end.x - before.x);
  const tip = (by: number, side: number) => `${end.x - Math.cos(angle) * by - Math.sin(angle) * side},${end.y - Math.sin(angle) * by + Math.cos(angle) * side}`;
  const short = [...points.slice(0, -1), { x: end.x - Math.cos(angle) * 5, y: end.y - Math.sin(angle) * 5 }];
  const d = pathOf(short);
  const box = data?.box;
  const rest = { x: end.x - Math.cos(angle) * 14, y: end.y - Math.sin(angle) * 14 };
  return (
    <g className={`net-edge net-${look}`}>
      <path d={d} fill="none" />
      <polygon points={`${end.x},${end.y} ${tip(8, 4.2)} ${tip(8, -4.2)}`} />
      {box && data?.label && (
        <g className="net-label">
          <rect x={box.x} y={box.y} width={box.w} height={box.h} rx={box.h / 2} />
          <text x={box.x + box.w / 2} y={box.y + box.h / 2} textAnchor="middle" dominantBaseline="central">{data.label}</text>
        </g>
      )}
      {tokens > 0 && (
        <g className="net-drop" transform={`translate(${rest.x} ${rest.y})`}>
          <circle r="10" className="net-halo" /><circle r="6.5" />
          {tokens > 1 && <text textAnchor="middle" dominantBaseline="central">{tokens}</text>}
        </g>
      )}
      {flight ? <circle key={flight as number} r="6.5" className="net-drop-moving"><animateMotion dur="600ms" fill="freeze" path={d} begin="indefinite" ref={(element: SVGElement | null) => (element as (SVGElement & { beginElement?: () => void }) | null)?.beginElement?.()} /></circle> : null}
    </g>
  );
});
