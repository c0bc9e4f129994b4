/** A small output, field by field. */
import type { ReactNode } from "react";
import type { Json } from "../api/types";
import { JsonView } from "../run/Panel";
import { useWords } from "../words";

/** Fields of a small output, each with its confidence where it has one. */
export function OutputFields({ value }: { value: Json }): ReactNode {
  const { f } = useWords();
  if (typeof value !== "object" || value === null || Array.isArray(value)) return <JsonView value={value} />;
  const flat = Object.entries(value).flatMap(([name, inner]): { name: string; text: string; sure: number | null }[] => {
    const sure = typeof inner === "object" && inner !== null && !Array.isArray(inner) && typeof inner["confidence"] === "number" ? inner["confidence"] : null;
    const shown = sure !== null ? (inner as { value?: Json }).value : inner;
    return [{ name, text: typeof shown === "string" ? shown : JSON.stringify(shown ?? null), sure }];
  });
  return (
    <dl className="fields" tabIndex={0}>
      {flat.slice(0, 40).map(({ name, text, sure }) => (
        <div key={name}><dt className="mono cut" title={name}>{name}</dt><dd className="cut" title={text}>{text}</dd>{sure !== null && <dd className="sure"><i style={{ width: `${Math.round(sure * 44)}px` }} aria-hidden />{f.number(Math.round(sure * 100) / 100)}</dd>}</div>
      ))}
    </dl>
  );
}
