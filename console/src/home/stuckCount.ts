/** How many runs are stuck, as every place says it: the headline, its card, the sidebar. */
import type { Home } from "../api/types";
import type { Format } from "../words/format";

/** A plus: so many open runs could be stuck that the server has not looked at all of them. */
export const stuckCount = ({ stuck, more }: Home["headline"], f: Format): string => f.number(stuck) + (more ? "+" : "");
