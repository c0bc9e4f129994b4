import type { Item } from "../api/types";

/** Where an item is in the API: its id tells it from another one of the same node. */
export function itemPath(item: Pick<Item, "id">): string {
  const at = item.id.indexOf("/");
  return `/inbox/${encodeURIComponent(item.id.slice(0, at))}/${encodeURIComponent(item.id.slice(at + 1))}`;
}

export const workPath = (id: string): string => `/processes/workitems/${encodeURIComponent(id)}`;
