/** The keys, on one page. */
import type { ReactNode } from "react";
import { Button } from "../components";
import { Dialog } from "../components/Dialog";
import { useWords } from "../words";

export function Help({ onClose }: { onClose: () => void }): ReactNode {
  const { t } = useWords();
  const k = t.keys;
  const groups: [string, [string, string][]][] = [
    [k.go, [["g h", k.home], ["g i", k.inbox], ["g r", k.runs], ["g d", t.nav.definitions], ["Ctrl K", k.palette]]],
    [k.list, [["/", k.filter], ["j", k.down], ["k", k.up], ["Enter", k.open], ["x", k.select]]],
    [k.decide, [["a", k.approve], ["r", k.reject]]],
    [k.play, [["[", k.previous], ["]", k.next], ["Space", k.playPause], ["l", k.live], ["f", k.fit]]],
    [k.other, [["i", k.inspector], ["?", k.help], ["Esc", k.escape]]],
  ];
  return (
    <Dialog label={k.title} onClose={onClose}>
      <h2>{k.title}</h2>
      <div className="help">
        {groups.map(([name, keys]) => (
          <section key={name}>
            <h3>{name}</h3>
            <dl>{keys.map(([key, text]) => <div key={key}><dt>{key.split(" ").map((name) => <kbd key={name} className="kbd">{name}</kbd>)}</dt><dd>{text}</dd></div>)}</dl>
          </section>
        ))}
      </div>
      <div className="dialog-foot"><Button autoFocus onClick={onClose}>{t.nav.close}</Button></div>
    </Dialog>
  );
}
