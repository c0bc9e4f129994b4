/** Plans: tasks that agents do, three at a time, watched, reviewed when in doubt. */
import { Bot, SquareKanban } from "lucide-react";
import { lazy } from "react";
import type { Language } from "../languages/contract";
import { placeOf } from "./itemPlace";
import { ADDRESSES, taskPath } from "./requests";
import { ReviewItem } from "./ReviewItem";

export const plan: Language = {
  name: "plan",
  icon: SquareKanban,
  nodeIcons: { task: Bot },
  document: { recognises: (document) => "plan" in document && "tasks" in document },
  items: {
    permissions: { approve: "plan.review", reject: "plan.review" },
    workVerbs: new Set(["approve", "reject"]),
    staysOpen: new Set(),
    changedCode: "TASK-409-TRANSITION",
    path: (item, verb) => `${taskPath(placeOf(item).project, placeOf(item).task)}:review-${verb}`,
    icon: () => Bot,
    View: ReviewItem, // in the first load: an item can be opened without a connection
  },
  addresses: ADDRESSES,
  rooms: [{
    path: "plans", text: (t) => t.plan.title, icon: SquareKanban, permission: "plan.read", key: "l",
    Page: lazy(() => import("./Room")), canvas: (parts) => parts[0] !== undefined,
  }],
  run: () => import("./run").then(({ runParts }) => runParts),
};
