/** A result in doubt, in the inbox: it is decided where its diff and its criteria are. */
import { ArrowLeft, SquareKanban } from "lucide-react";
import type { ReactNode } from "react";
import type { ItemViewProps } from "../languages/contract";
import { Link } from "../shell/router";
import { useWords } from "../words";
import { placeOf } from "./itemPlace";

export function ReviewItem({ item, phone }: ItemViewProps): ReactNode {
  const { t } = useWords();
  const { project, task } = placeOf(item);
  return (
    <article className="item" aria-labelledby="item-title">
      {phone && <header className="item-bar"><Link to="/inbox" className="btn btn-icon" aria-label={t.nav.back}><ArrowLeft size={22} aria-hidden /></Link><b>{t.nav.inbox}</b></header>}
      <div className="item-scroll">
        <header className="item-head"><div className="grow">
          <p className="dim item-run"><SquareKanban size={15} strokeWidth={1.9} aria-hidden />{item.run_title}<span className="mono">{task}</span></p>
          <h1 id="item-title">{item.title}</h1>
        </div></header>
        <p className="item-text">{t.plan.reviewItem}</p>
      </div>
      <div className="item-foot"><span className="grow" /><Link className="btn btn-primary" to={`/plans/${encodeURIComponent(project)}?task=${encodeURIComponent(task)}&tab=criteria`}>{t.plan.reviewOpen}</Link></div>
    </article>
  );
}
