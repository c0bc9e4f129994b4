/** Decision tables as tables: what has to hold in each row, and what follows. */
import type { ReactNode } from "react";
import type { DecisionTable } from "./dmn";
import { useManualWords } from "./speech";
import { Sure } from "./Sure";
import { keyOf, type ReadElement } from "./types";

interface Props {
  tables: DecisionTable[];
  elements: ReadElement[];
  lit: Set<string>;
  onPick: (element: ReadElement) => void;
}

export function DecisionTables({ tables, elements, lit, onPick }: Props): ReactNode {
  const { m } = useManualWords();
  return (
    <div className="manual-tables" tabIndex={0} role="region" aria-label={m.tables(tables.length)}>
      {tables.map((table) => {
        const element = elements.find(({ id, collection }) => id === table.id && !["activities", "gateways", "events", "transitions"].includes(collection)) ?? elements.find(({ id }) => id === table.id);
        return (
          <section key={table.id} className={`card ${element && lit.has(keyOf(element)) ? "manual-step-lit" : ""}`} aria-label={table.name}>
            <div className="card-head">
              {element ? <button type="button" className="linklike manual-table-name" onClick={() => onPick(element)}>{table.name}</button> : <h2>{table.name}</h2>}
              {element && <Sure element={element} />}
              <span className="tag end">{m.hit[table.hitPolicy] ?? table.hitPolicy}</span>
            </div>
            <div className="manual-table-wide">
              <table>
                <thead>
                  <tr><th aria-hidden />{table.inputs.length > 0 && <th scope="colgroup" colSpan={table.inputs.length}>{m.when}</th>}{table.outputs.length > 0 && <th scope="colgroup" className="manual-then" colSpan={table.outputs.length}>{m.then}</th>}</tr>
                  <tr><th scope="col">#</th>{table.inputs.map((input, i) => <th key={i} scope="col">{input}</th>)}{table.outputs.map((output, i) => <th key={i} scope="col" className={i === 0 ? "manual-then" : ""}>{output}</th>)}</tr>
                </thead>
                <tbody>
                  {table.rules.map((rule, n) => <tr key={n}><th scope="row">{n + 1}</th>{rule.inputs.map((entry, i) => <td key={i}>{entry === "" || entry === "-" ? <span className="dim">{m.any}</span> : <code>{entry}</code>}</td>)}{rule.outputs.map((entry, i) => <td key={i} className={i === 0 ? "manual-then" : ""}><code>{entry}</code></td>)}</tr>)}
                </tbody>
              </table>
            </div>
          </section>
        );
      })}
    </div>
  );
}
