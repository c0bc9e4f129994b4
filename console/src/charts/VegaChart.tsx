/** Draws a Vega-Lite specification in the console's colours, without `eval`: the server's policy forbids it. */
import { useEffect, useRef, useState, type ReactNode } from "react";
import { parse, View, Warn, type Loader } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile, type TopLevelSpec } from "vega-lite";
import { isDict } from "../api/json";
import type { Dict } from "../api/types";
import { useTheme } from "../shell/theme";
import { useWords } from "../words";

/** A chart has its rows with it: nothing is fetched. */
const NO_LOADER = { load: () => Promise.reject(new Error("a chart loads nothing")), sanitize: () => Promise.reject(new Error("a chart has no links")), http: () => Promise.reject(new Error("a chart loads nothing")), file: () => Promise.reject(new Error("a chart loads nothing")) } as unknown as Loader;
const HEIGHT = 220;

export default function VegaChart({ spec, title }: { spec: Dict; title: string }): ReactNode {
  const { t } = useWords();
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    const place = box.current;
    if (!place) return;
    let view: View | null = null;
    setFailed(false);
    try {
      const sized = "facet" in spec || "hconcat" in spec || "vconcat" in spec || "concat" in spec || "repeat" in spec ? {} : { width: Math.max(160, place.clientWidth), height: HEIGHT, autosize: { type: "fit", contains: "padding" } };
      const { config, ...bare } = spec;
      const range = isDict(config) ? config["range"] : undefined; // of its own look only the colours of its series are kept
      const whole = { ...bare, ...sized, background: "transparent", ...(range === undefined ? {} : { config: { range } }) } as unknown as TopLevelSpec;
      view = new View(parse(compile(whole, { config: colours() }).spec, undefined, { ast: true }), { expr: expressionInterpreter, renderer: "svg", container: place, hover: true, logLevel: Warn, loader: NO_LOADER });
      view.runAsync().catch(() => setFailed(true));
    } catch {
      setFailed(true);
    }
    return () => { view?.finalize(); place.replaceChildren(); };
  }, [spec, theme]);
  // Vega writes roles on the element that it is given, so that one is inside
  return <>{failed && <p className="dim">{t.chart.failed}</p>}<div className="vega-box" role="img" aria-label={title} hidden={failed}><div ref={box} aria-hidden /></div></>;
}

/** The colours of the theme that is shown now. */
function colours(): object {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  const font = "Pretendard Variable, Pretendard, sans-serif";
  const text = { labelColor: of("--text2"), titleColor: of("--text2"), labelFont: font, titleFont: font, labelFontSize: 11, titleFontSize: 11.5, titleFontWeight: 500 };
  return {
    font, aria: false, view: { stroke: "transparent" }, mark: { color: of("--accent") }, line: { strokeWidth: 2 }, range: { category: [of("--accent"), of("--held"), of("--idle"), of("--quiet"), of("--undone"), of("--moving")] },
    title: { color: of("--text"), font, fontSize: 13, fontWeight: 650, anchor: "start" }, axis: { ...text, gridColor: of("--line"), domainColor: of("--line2"), tickColor: of("--line") }, legend: { ...text, orient: "bottom" }, header: text,
  };
}
