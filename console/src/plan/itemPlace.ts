/** Where an item of the inbox stands: the server names it PROJECT/TASK. */
import type { Item } from "../api/types";

export function placeOf({ work }: Pick<Item, "work">): { project: string; task: string } {
  const [project = "", task = ""] = (work?.id ?? "").split("/");
  return { project, task };
}
