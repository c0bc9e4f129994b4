/** The top bar: breadcrumbs, search, connection, locale and theme. */
import { ChevronRight, Languages, Moon, Search, Sun } from "lucide-react";
import { Fragment, type ReactNode } from "react";
import { useLiveness } from "../api/live";
import { useWords } from "../words";
import { useChrome } from "./chrome";
import { Mark } from "./Mark";
import { Link } from "./router";
import { setTheme, useTheme } from "./theme";

export function Topbar({ onFind }: { onFind: () => void }): ReactNode {
  const { t, locale, setLocale } = useWords();
  const { crumbs } = useChrome();
  const theme = useTheme();
  return (
    <header className="top">
      <Link to="/" className="top-mark" aria-label={`Penstock, ${t.nav.home}`}><Mark size={26} /></Link>
      <nav className="crumbs" aria-label={t.nav.breadcrumb}>
        {crumbs.map((crumb, i) => (
          <Fragment key={`${i}${crumb.text}`}>
            {i > 0 && <ChevronRight size={14} aria-hidden />}
            {crumb.to && i < crumbs.length - 1 ? <Link to={crumb.to}>{crumb.text}</Link>
              : <span aria-current={i === crumbs.length - 1 ? "page" : undefined} className={crumb.mono ? "mono" : undefined}>{crumb.text}</span>}
          </Fragment>
        ))}
      </nav>
      <button type="button" className="find" onClick={onFind}>
        <Search size={15} aria-hidden />
        <span>{t.nav.find}</span>
        <kbd className="kbd" aria-hidden>Ctrl K</kbd>
      </button>
      <LiveChip />
      <button type="button" className="btn btn-icon hide-phone" aria-label={t.nav.locale} title={t.nav.locale} onClick={() => setLocale(locale === "ko" ? "en" : "ko")}><Languages size={17} aria-hidden /></button>
      <button type="button" className="btn btn-icon hide-phone" aria-label={theme === "dark" ? t.nav.light : t.nav.dark} title={theme === "dark" ? t.nav.light : t.nav.dark} onClick={() => setTheme(theme === "dark" ? "light" : "dark")}>
        {theme === "dark" ? <Sun size={17} aria-hidden /> : <Moon size={17} aria-hidden />}
      </button>
    </header>
  );
}

export function LiveChip(): ReactNode {
  const { t } = useWords();
  const live = useLiveness();
  const { past } = useChrome();
  const tone = past ? "undone" : live === "live" ? "done" : live === "stale" ? "held" : "idle";
  const text = past ? t.nav.past : live === "live" ? t.nav.live : live === "stale" ? t.nav.stale : t.nav.offline;
  return <span className={`live tone-${tone}`} role="status"><i aria-hidden />{text}</span>;
}
