/**
 * The hand-written shapes against the server's own description: every field that the console reads must be told by it.
 * Checked by `npm run agree`, after `npm run types -- FILE` has written schema.d.ts from `penstock serve --openapi`.
 */
import type { components } from "./schema";
import type * as hand from "./types";

type Told = components["schemas"];
/** Fields that the console reads and the server does not tell. */
type Missing<Hand, Server> = Exclude<keyof Hand, keyof Server>;
type None<T extends never> = T;

export type Checked = [
  None<Missing<hand.Me, Told["Me"]>>,
  None<Missing<hand.Run, Told["RunOut"]>>,
  None<Missing<hand.RunSummary, Told["RunSummary"]>>,
  None<Missing<hand.Why, Told["WhyOut"]>>,
  None<Missing<hand.Move, Told["MoveOut"]>>,
  None<Missing<hand.Firing, Told["FiringOut"]>>,
  None<Missing<hand.Graph, Told["GraphOut"]>>,
  None<Missing<hand.Deltas, Told["DeltasOut"]>>,
  None<Missing<Omit<hand.Delta, "not_taken">, Told["DeltaOut"]>>,
  None<Missing<hand.Fact, Told["FactOut"]>>,
  None<Missing<hand.Item, Told["ItemOut"]>>,
  None<Missing<Omit<hand.ItemShort, "fields">, Told["ShortItemOut"]>>,
  None<Missing<hand.Home, Told["HomeOut"]>>,
];
