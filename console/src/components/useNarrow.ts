/** Whether the screen is as narrow as a phone's: then pages have one column. */
import { useEffect, useMemo, useState } from "react";

export function useNarrow(): boolean {
  const query = useMemo(() => matchMedia("(max-width: 720px)"), []);
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [query]);
  return narrow;
}
