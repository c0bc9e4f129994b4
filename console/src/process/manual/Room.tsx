/** The screens of manuals: bringing one, the one that was just read, and one that is saved. */
import "../../run/run.css";
import "../../definitions/definitions.css";
import "../draft/draft.css";
import "./manual.css";
import type { ReactNode } from "react";
import { Empty } from "../../components";
import { Nowhere } from "../../shell/App";
import { may, useSession } from "../../shell/session";
import { useWords } from "../../words";
import { BringManual } from "./BringManual";
import { NewManual } from "./NewManual";
import { StoredManual } from "./StoredManual";

export default function Room({ parts: [id, v, number, more] }: { parts: string[] }): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  if (!may(me, "definition.read")) return <Empty page title={t.error.forbidden("definition.read")} />;
  if (id !== undefined && v === "v" && /^\d{1,9}$/.test(number ?? "") && more === undefined) return <StoredManual key={`${id} ${number}`} id={id} version={Number(number)} />;
  if (v !== undefined || (id !== undefined && id !== "new")) return <Nowhere />;
  if (!may(me, "definition.write")) return <Empty page title={t.error.forbidden("definition.write")} />;
  return id === "new" ? <NewManual /> : <BringManual />;
}
