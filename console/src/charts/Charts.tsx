/** Charts that are in the data of a run, each with its rows as a table. What draws them is loaded when one is there. */
import "./charts.css";
import { lazy, Suspense, useMemo, type ReactNode } from "react";
import type { Dict, Json } from "../api/types";
import { Skeleton } from "../components";
import { useWords } from "../words";
import { rowsOf, specsIn, titleOf } from "./specs";

const VegaChart = lazy(() => import("./VegaChart"));
const MOST_ROWS = 200;

export function Charts({ value }: { value: Json | undefined }): ReactNode {
  const specs = useMemo(() => specsIn(value), [value]);
  return specs.map((spec, i) => <Drawn key={i} spec={spec} />);
}

function Drawn({ spec }: { spec: Dict }): ReactNode {
  const { t, f } = useWords();
  const { columns, rows } = useMemo(() => rowsOf(spec), [spec]);
  const title = titleOf(spec) || t.chart.untitled;
  return (
    <section className="vega">
      <Suspense fallback={<Skeleton h={220} />}><VegaChart spec={spec} title={title} /></Suspense>
      {rows.length > 0 && (
        <details>
          <summary>{t.chart.asTable(f.number(rows.length))}</summary>
          <div className="vega-rows" tabIndex={0} role="region" aria-label={title}>
            <table>
              <thead><tr>{columns.map((name) => <th key={name}>{name}</th>)}</tr></thead>
              <tbody>{rows.slice(0, MOST_ROWS).map((row, i) => <tr key={i}>{columns.map((name) => <td key={name} className={typeof row[name] === "number" ? "num" : undefined}>{cell(row[name])}</td>)}</tr>)}</tbody>
            </table>
          </div>
        </details>
      )}
    </section>
  );
}

const cell = (value: Json | undefined): string => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
