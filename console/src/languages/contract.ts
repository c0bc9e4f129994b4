/**
 * What a language may bring to the screens that all languages share. Everything but its name and icon is optional:
 * where a language brings nothing, the general screens show its definitions, runs and items.
 */
import type { LucideIcon } from "lucide-react";
import type { ComponentType, ReactNode } from "react";
import type { Dict, Extracted, Graph, Inspected, Item, Json, Move, Run, Tone, Verb, Version, VersionWhole, WorkVerb } from "../api/types";
import type { CanvasMode } from "../net/view";
import type { Crumb } from "../shell/chrome";
import type { Dictionary } from "../words/ko";

export interface Language {
  /** As the server names it. */
  name: string;
  icon: LucideIcon;
  /** Icons of its node types, preferred to those that the server names. */
  nodeIcons?: Record<string, LucideIcon>;
  drawing?: Drawing;
  document?: DocumentParts;
  items?: ItemParts;
  addresses?: Addresses;
  letters?: LetterParts;
  drafts?: DraftParts;
  /** Screens of its own. */
  rooms?: Room[];
  /** Loaded with the page of a run. */
  run?: () => Promise<RunParts>;
  /** Loaded with the page of a definition. */
  definition?: () => Promise<DefinitionParts>;
}

/** Messages of a language that nobody could take, in the room of dead letters. */
export interface LetterParts {
  path: string;
  permission: string;
  redrivePermission: string;
  read: (answer: unknown, t: Dictionary) => MessageCause[];
  sample: (cause: MessageCause, most: number) => Promise<{ id: string; name: string; detail: string; tries: string }[]>;
  /** These, or all of the cause; a dry run only tells. */
  redrive: (cause: MessageCause, ids: string[] | null, dryRun: boolean, key: string) => Promise<{ count: number; refused: { why: string; count: number }[] }>;
}

export interface MessageCause {
  queue: string;
  code: string;
  message: string;
  count: number;
  firstAt: string;
  lastAt: string;
  /** Sending it again may help. */
  curable: boolean;
}

/** Documents that somebody brought and that cannot run yet: they are finished on a page of their own. */
export interface DraftParts {
  /** Where the server lists them. */
  path: string;
  /** The draft that is to become a version of this definition, by its id; null when there is none. */
  find: (answer: unknown, name: string) => string | null;
  /** Brings a file, on the screen of all definitions. */
  Import: ComponentType;
  /** Those that are not released, above the definitions. */
  List: ComponentType;
  Page: ComponentType<DraftPageProps>;
}

export interface DraftPageProps {
  id: string;
  version: number;
  /** What is shown when the draft becomes another version than this. */
  otherwise: ReactNode;
}

/** Screens of a language below one first part of the address. */
export interface Room {
  path: string;
  text: (t: Dictionary) => string;
  icon: LucideIcon;
  /** Who may enter. */
  permission: string;
  /** The key that leads there, after `g`. */
  key: string;
  /** `parts` of the address behind the first one. */
  Page: ComponentType<{ parts: string[] }>;
  /** There is a canvas, so the sidebar is narrow. */
  canvas: (parts: string[]) => boolean;
}

/** A drawing by the author, shown instead of the net that the engine runs. */
export interface Drawing {
  /** Its value in the address: `?view=`. */
  view: string;
  /** What the switch between views calls it. */
  text: string;
  icon: LucideIcon;
  /** Where the drawing of a released version is. */
  path: (definition: string, version: number) => string;
  /** The drawing of a text that was checked; null when it has none. */
  ofInspected: (inspected: Inspected) => string | null;
  View: ComponentType<DrawingProps>;
}

export interface DrawingProps {
  source: string;
  graph: Graph;
  mode: CanvasMode;
  /** What is new or changed against another version. */
  marks?: Map<string, "added" | "changed">;
  selected: string | null;
  /** By node, since when it is held. */
  since: Record<string, string>;
  onPick: (node: string | null) => void;
  onFail: () => void;
}

/** Its documents in lists, in the editor and in comparisons. */
export interface DocumentParts {
  /** Tells the language of a document before the server has read it. */
  recognises?: (document: Dict) => boolean;
  /** The title that a document gives itself, where that is not its `name`. */
  title?: (document: Dict) => string | undefined;
  /** An author may release a document of which a run may never end, by saying so. */
  mayBeUnsound?: boolean;
  /** Releases a text as a new version of `from`, or as a new definition. */
  submit?: (text: string, from: string | null, unsound: boolean, key: string) => Promise<{ name: string; version: number }>;
  start?: StartParts;
  /** The elements that differ, by their ids; without it the server compares. */
  compare?: (before: Dict, after: Dict) => Difference[];
  /** Words beside the names in the list of definitions. */
  tags?: { path: string; read: (answer: unknown, t: Dictionary) => Map<string, string> };
  /** The open items of all its runs, to count those that wait at each element. */
  waiting?: { path: string; permission: string; read: (answer: unknown, t: Dictionary) => { items: WaitingItem[]; more: boolean } };
  /** Details of one element, beside the drawing. */
  Element?: ComponentType<ElementProps>;
  /** Drafts a document from plain words. */
  PlainText?: ComponentType<PlainTextProps>;
}

export interface StartParts {
  /** Starts a run and returns its id. */
  send: (definition: string, version: number, input: Json, options: StartOptions, key: string) => Promise<string>;
  Options?: ComponentType<{ document: Dict; options: StartOptions; onChange: (options: StartOptions) => void }>;
}

export type StartOptions = Record<string, string>;

/** An element that differs between two documents, with its fields before and after. */
export interface Difference {
  kind: "added" | "removed" | "changed";
  collection: string;
  id: string;
  name: string;
  /** It is drawn, so it can be selected there. */
  drawn: boolean;
  fields: { name: string; before: Json; after: Json }[];
}

/** An item that waits at an element of a definition. */
export interface WaitingItem {
  id: string;
  run: string;
  node: string;
  who: string;
  /** `who` is an id and not a name. */
  isId: boolean;
  since: string;
  status: string;
  tone: Tone;
}

export interface ElementProps {
  /** Null while the text cannot be read. */
  document: Dict | null;
  graph: Graph;
  node: string;
  onPick: (node: string) => void;
}

export interface PlainTextProps {
  user: string;
  /** The definition that gets a new version; null for a new one. */
  from: string | null;
  /** The document that is written now, and its text. */
  before: Dict | null | undefined;
  text: string;
  proposal: Extracted | null;
  onProposal: (proposal: Extracted | null) => void;
  onPick: (node: string) => void;
  onAccept: (text: string) => void;
}

/** Items of the inbox that have a lifecycle of their own; the server sends them with `work`. */
export interface ItemParts {
  /** The permission that each move of an item needs, when it is offered as a move of the run. */
  permissions: Partial<Record<Verb, string>>;
  /** Moves by which somebody does the work of an item. */
  workVerbs: ReadonlySet<Verb | WorkVerb>;
  /** Moves after which an item goes on. */
  staysOpen: ReadonlySet<string>;
  /** The code of the refusal when an item has changed since it was seen. */
  changedCode: string;
  /** Where a move of an item is sent. */
  path: (item: Item, verb: string) => string;
  icon: (item: Pick<Item, "work">) => LucideIcon | null;
  View: ComponentType<ItemViewProps>;
}

export interface ItemViewProps {
  item: Item;
  place: { n: number; of: number } | null;
  phone: boolean;
  onNext: () => void;
}

/** Addresses of the API, besides the general ones, whose answers are old after an event. */
export interface Addresses {
  run: (id: string) => string[];
  lists: string[];
  definitions: string[];
}

export interface RunParts {
  /** Tabs of the panel, after the summary. A hook: the language of a run never changes. */
  useTabs: (context: RunContext) => RunTabs;
  /** What happens after each decision that a run waits for; null says it in the general words. */
  outcomes?: (t: Dictionary) => Outcome[];
  /** The way to a run, in front of its own name. */
  crumbs?: (run: Run, t: Dictionary) => Crumb[];
  /** Instead of the general header, while the playhead is at now. */
  Header?: ComponentType<RunHeaderProps>;
  /** Between the drawing and the timeline. */
  Middle?: ComponentType<{ run: Run; node: string | null; onPick: (node: string) => void }>;
  /** By node, a few words that stand at its foot on the canvas. A hook, as `useTabs` is. */
  useNotes?: (run: Run) => Record<string, string>;
  /** What the timeline is called, and what stands beside that. */
  timeline?: (run: Run, t: Dictionary) => { name: string; about: string };
}

export interface RunHeaderProps {
  run: Run;
  graph: Graph | undefined;
  at: number | null;
  ask: (move: Move, from: Element | null, fact?: number) => void;
  onLive: () => void;
}

export interface RunContext {
  run: Run;
  graph: Graph | undefined;
  node: string | null;
  /** The fact at the playhead; null is now. */
  at: number | null;
}

export interface RunTabs {
  tabs: { id: string; text: string; count: number; body: ReactNode }[];
  /** The tab that a run opens with; null leaves it to the panel. */
  first: string | null;
}

export interface Outcome {
  tone: "done" | "failed";
  word: string;
  text: string;
}

export interface DefinitionParts {
  /** What the page of a definition shows besides. A hook: the page is made anew for another language. */
  useDetails: (context: DefinitionContext) => DefinitionDetails;
}

export interface DefinitionContext {
  version: VersionWhole;
  /** There is no other version to compare it with. */
  alone: boolean;
}

export interface DefinitionDetails {
  /** Everything that was asked for is there; until then nothing can be decided. */
  ready: boolean;
  /** Tabs before the general ones; the page opens with the first. */
  tabs: DefinitionTab[];
  /** Buttons beside the tabs. */
  tools: ReactNode;
  /** Shown instead of a drawing when the definition only holds others, which also keeps it from being started. */
  contents: ReactNode;
  /** Another definition to compare it with when it has no other version. */
  base: { id: string; name: string; document: Dict | undefined; error: unknown } | null;
  /** Its approval goes another way than that of other definitions. */
  review: Review | null;
}

export interface DefinitionTab {
  id: string;
  text: string;
  /** It tells what differs, so the differences are marked in the drawing. */
  compares: boolean;
  body: (shown: { comparison: Comparison; waiting: Waiting; onPick: (node: string) => void }) => ReactNode;
}

export interface Review {
  permission: string;
  /** What approving it does. */
  effect: string;
  /** Offers to make it a version of another definition too; null offers nothing. */
  into: string | null;
  send: (verb: "approve" | "reject", comment: string, into: boolean, key: string) => Promise<void>;
}

/** What a version is compared with, and how it differs. */
export interface Comparison {
  /** The other version; null when it is another definition's, or when there is none. */
  version: Version | null;
  /** The other document, once it is there. */
  document: Dict | undefined;
  /** The other definition. */
  other: { id: string; name: string } | null;
  error: unknown;
  /** Null while it is not known, and when the server compares. */
  differences: Difference[] | null;
}

/** What waits now at each element of a definition. */
export interface Waiting {
  items: Map<string, WaitingItem[]>;
  counts: Map<string, number>;
  /** There are more than were fetched: the counts are the least there are. */
  more: boolean;
}
