/** Changes that wait for a second person: what is in force, what was proposed, and the decision of another. */
import "../definitions/definitions.css";
import "./proposals.css";
import { Check, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { stale, useGet } from "../api/cache";
import { call, newKey } from "../api/client";
import type { Page, Proposal } from "../api/types";
import { Badge, Button, Card, Empty, Failed, Skeleton } from "../components";
import { toast } from "../components/toast";
import { TextDiff } from "../definitions/TextDiff";
import { useFrame } from "../shell/chrome";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";

export default function ProposalsPage(): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  useFrame([{ text: t.nav.proposals }]);
  return (
    <div className="proposals pad">
      <h1>{t.nav.proposals}</h1>
      <p className="dim">{t.proposals.about}</p>
      {may(me, "registry.read") ? <List /> : <Empty title={t.error.forbidden("registry.read")} />}
    </div>
  );
}

function List(): ReactNode {
  const { t } = useWords();
  const { data, error, reload } = useGet<Page<Proposal>>("/proposals?limit=50");
  if (!data) return error ? <Failed error={error} retry={reload} /> : <Skeleton h={80} n={2} />;
  if (data.items.length === 0) return <Empty title={t.proposals.none} />;
  return data.items.map((proposal) => <One key={`${proposal.path} ${proposal.etag}`} proposal={proposal} />);
}

function One({ proposal }: { proposal: Proposal }): ReactNode {
  const { t, f } = useWords();
  const { me } = useSession();
  const p = t.proposals;
  const [busy, setBusy] = useState(false);
  const what = `${p.types[proposal.type] ?? proposal.type} ${proposal.id}`;
  const decide = async (verb: "approve" | "reject") => {
    setBusy(true);
    try {
      await call(`${proposal.path}/${verb}`, { method: "POST", body: {}, key: newKey(), etag: proposal.etag });
      toast(verb === "approve" ? p.approved(what) : p.rejected(what));
    } catch (problem) {
      toast(errorText(problem, t), { bad: true }); // what it is about may be another proposal by now
    }
    setBusy(false);
    stale("/proposals");
  };
  const mine = proposal.by === me.user;
  return (
    <Card>
      <article aria-label={what}>
        <div className="card-head">
          <h2>{what}</h2>
          {proposal.now === null && <Badge tone="moving">{p.isNew}</Badge>}
          {proposal.body === null && <Badge tone="failed">{p.away}</Badge>}
          <span className="dim">{p.by(proposal.by, f.dayTime(proposal.at))}</span>
        </div>
        <TextDiff before={written(proposal.now)} after={written(proposal.body)} />
        <div className="proposal-foot">
          {!may(me, "definition.approve") ? <span className="dim">{p.mayNot}</span> : (
            <>
              {mine && <span className="dim">{p.mine}</span>}
              <Button look="danger" icon={X} disabled={busy} onClick={() => void decide("reject")}>{p.reject}</Button>
              <Button look="primary" icon={Check} disabled={busy || mine} onClick={() => void decide("approve")}>{p.approve}</Button>
            </>
          )}
        </div>
      </article>
    </Card>
  );
}

const written = (body: unknown): string => (body === null ? "" : JSON.stringify(body, null, 2));
