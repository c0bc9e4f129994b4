/** Keeps the answers about deployments fresh while a screen shows them. */
import { useEffect } from "react";
import { stale } from "../api/cache";
import { onLive } from "../api/live";
import { DEPLOYMENTS } from "./requests";

/** Every run that ends may have counted: answers are read at most this often. */
const READ_MS = 1500;
/** A stage may end while nothing else happens. */
const LOOK_MS = 15_000;

export function useLiveDeployments(): void {
  useEffect(() => {
    let timer = 0;
    const read = () => { timer ||= window.setTimeout(() => { timer = 0; stale(DEPLOYMENTS); }, READ_MS); };
    const stop = onLive((event) => { if (event.kind === "run") read(); });
    const look = window.setInterval(() => !document.hidden && read(), LOOK_MS);
    return () => { stop(); window.clearTimeout(timer); window.clearInterval(look); };
  }, []);
}
