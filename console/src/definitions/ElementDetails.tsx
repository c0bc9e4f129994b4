/** Details of an element in any language: the fields that its author has written, and its ways. */
import { ArrowLeft, ArrowRight } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { textOf } from "../api/json";
import type { Dict } from "../api/types";
import { Tag } from "../components";
import type { ElementProps } from "../languages/contract";
import { useWords } from "../words";
import { dataOf, waysOf, type Way } from "./elementData";

export function ElementDetails({ document, graph, node, onPick }: ElementProps): ReactNode {
  const data = useMemo(() => (document ? dataOf(document, node) : null) ?? {}, [document, node]);
  const { into, out } = useMemo(() => waysOf(graph, node), [graph, node]);
  return (
    <>
      <WrittenFields data={data} />
      <Documentation data={data} />
      <Ways into={into} out={out} onPick={onPick} />
    </>
  );
}

export function Row({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return <div className="kv"><dt>{name}</dt><dd>{children}</dd></div>;
}

const HIDDEN = ["id", "type", "name", "label", "nodes", "edges", "documentation"];

export function WrittenFields({ data }: { data: Dict }): ReactNode {
  const rows = Object.entries(data).filter(([name]) => !HIDDEN.includes(name));
  if (rows.length === 0) return null;
  return (
    <section>
      <dl>{rows.map(([name, value]) => <Row key={name} name={name}>{value !== null && typeof value === "object" ? <pre className="code" tabIndex={0}>{JSON.stringify(value, null, 2)}</pre> : <span className="mono">{textOf(value)}</span>}</Row>)}</dl>
    </section>
  );
}

export function Documentation({ data }: { data: Dict }): ReactNode {
  const { t } = useWords();
  const text = textOf(data["documentation"]);
  return text && <section><h3>{t.inspect.documentation}</h3><p className="pre">{text}</p></section>;
}

export function Ways({ into, out, onPick }: { into: Way[]; out: Way[]; onPick: (node: string) => void }): ReactNode {
  const { t } = useWords();
  return (
    <>
      <WayList title={t.inspect.into} none={t.inspect.intoNone} icon={ArrowLeft} ways={into} onPick={onPick} />
      <WayList title={t.inspect.out} none={t.inspect.outNone} icon={ArrowRight} ways={out} onPick={onPick} />
    </>
  );
}

function WayList({ title, none, icon: Icon, ways, onPick }: { title: string; none: string; icon: typeof ArrowLeft; ways: Way[]; onPick: (node: string) => void }): ReactNode {
  const { t } = useWords();
  return (
    <section>
      <h3>{title}</h3>
      {ways.length === 0 && <p className="dim">{none}</p>}
      <ul className="inspect-list inspect-ways">
        {ways.map((way) => (
          <li key={way.id}>
            <Icon size={14} aria-hidden />
            <span className="grow"><button type="button" className={`linklike ${way.label === way.other ? "mono" : ""}`} onClick={() => onPick(way.other)}>{way.other === ".start" ? t.definitions.begin : way.label}</button>{way.name && <span className="dim"> {way.name}</span>}{way.condition && <code>{way.condition}</code>}{way.otherwise && <Tag>{t.inspect.otherwise}</Tag>}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
