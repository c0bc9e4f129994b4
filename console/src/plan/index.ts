/** Plans: tasks that agents do, three at a time, watched, reviewed when in doubt. */
import { Bot, SquareKanban } from "lucide-react";
import { lazy } from "react";
import type { Language } from "../languages/contract";
import { ADDRESSES } from "./requests";

export const plan: Language = {
  name: "plan",
  icon: SquareKanban,
  nodeIcons: { task: Bot },
  document: { recognises: (document) => "plan" in document && "tasks" in document },
  addresses: ADDRESSES,
  rooms: [{
    path: "plans", text: (t) => t.plan.title, icon: SquareKanban, permission: "plan.read", key: "l",
    Page: lazy(() => import("./Room")), canvas: (parts) => parts[0] !== undefined,
  }],
  run: () => import("./run").then(({ runParts }) => runParts),
};
