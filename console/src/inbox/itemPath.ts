/** The address of an item in the API: its id tells it from another item of the same node. */
import type { Item } from "../api/types";

export function itemPath(item: Pick<Item, "id">): string {
  const at = item.id.indexOf("/");
  return `/inbox/${encodeURIComponent(item.id.slice(0, at))}/${encodeURIComponent(item.id.slice(at + 1))}`;
}
