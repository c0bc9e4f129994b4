/** What a BPMN file draws, read for its pictures and lists: pools, elements, flows, and the attributes as vendors call them. */

export interface FileElement {
  id: string;
  /** As the file calls it: userTask, exclusiveGateway, participant … */
  type: string;
  name: string;
  /** The process that it is in; of a pool, the one that it shows. */
  process: string;
  lane: string;
  /** What triggers an event: timer, message … */
  trigger: string;
  /** By the file's own names: camunda:topic, zeebe:taskDefinition type … */
  vendor: { name: string; value: string }[];
}

export interface FileFlow {
  id: string;
  name: string;
  source: string;
  target: string;
  /** Between pools. */
  message: boolean;
  process: string;
}

export interface FileProcess {
  id: string;
  name: string;
  pool: string;
  elements: FileElement[];
}

export interface DrawingFile {
  elements: Map<string, FileElement>;
  flows: Map<string, FileFlow>;
  processes: FileProcess[];
}

const BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL";
const NODES = /(?:[tT]ask|Gateway|Event|callActivity|[sS]ubProcess|transaction)$/;
const MOST = 200;

const NOTHING: DrawingFile = { elements: new Map(), flows: new Map(), processes: [] };

export function readFile(xml: string): DrawingFile {
  const root = new DOMParser().parseFromString(xml, "application/xml");
  if (root.querySelector("parsererror")) return NOTHING;
  const file: DrawingFile = { elements: new Map(), flows: new Map(), processes: [] };
  const pools = of(root, "participant");
  for (const process of of(root, "process")) {
    const id = attribute(process, "id");
    const pool = pools.find((participant) => localName(attribute(participant, "processRef")) === id);
    const elements = elementsOf(process, id);
    for (const each of [...elements, ...of(process, "lane").map((lane) => element(lane, id, ""))]) file.elements.set(each.id, each);
    for (const flow of of(process, "sequenceFlow")) file.flows.set(attribute(flow, "id"), flowOf(flow, id, false));
    file.processes.push({ id, name: (pool && attribute(pool, "name")) || attribute(process, "name") || id, pool: pool ? attribute(pool, "id") : "", elements: alongFlow(elements, file.flows) });
  }
  for (const pool of pools) file.elements.set(attribute(pool, "id"), element(pool, localName(attribute(pool, "processRef")), ""));
  for (const flow of of(root, "messageFlow")) file.flows.set(attribute(flow, "id"), flowOf(flow, "", true));
  return file;
}

function elementsOf(process: Element, id: string): FileElement[] {
  const lanes = new Map(of(process, "lane").flatMap((lane) => of(lane, "flowNodeRef").map((node) => [node.textContent?.trim() ?? "", attribute(lane, "name")] as const)));
  return [...process.getElementsByTagNameNS(BPMN, "*")].filter((node) => NODES.test(node.localName) && attribute(node, "id")).map((node) => element(node, id, lanes.get(attribute(node, "id")) ?? ""));
}

const element = (node: Element, process: string, lane: string): FileElement => ({
  id: attribute(node, "id"), type: node.localName, name: attribute(node, "name").replace(/\s+/g, " "), process, lane,
  trigger: [...node.children].find((child) => child.localName.endsWith("EventDefinition"))?.localName.replace("EventDefinition", "") ?? "", vendor: vendorOf(node),
});

const flowOf = (flow: Element, process: string, message: boolean): FileFlow => ({ id: attribute(flow, "id"), name: attribute(flow, "name").replace(/\s+/g, " "), source: localName(attribute(flow, "sourceRef")), target: localName(attribute(flow, "targetRef")), message, process });

/** Attributes of another namespace, and what is in the extension elements: as the file writes them. */
function vendorOf(node: Element): FileElement["vendor"] {
  const found = attributesOf(node, "");
  for (const extension of [...node.children].filter((child) => child.localName === "extensionElements")) {
    for (const part of [...extension.getElementsByTagName("*")].slice(0, MOST)) {
      if (part.prefix === "penstock") continue; // our own settings are shown as what they mean
      const own = [...part.attributes].filter(({ name }) => !name.startsWith("xmlns")).map(({ name, value }) => ({ name: `${part.tagName} ${name}`, value }));
      const text = part.children.length === 0 ? (part.textContent?.trim() ?? "") : "";
      found.push(...own, ...(text || (own.length === 0 && part.children.length === 0) ? [{ name: part.tagName, value: text }] : []));
    }
  }
  return found.slice(0, MOST);
}

const attributesOf = (node: Element, prefix: string): FileElement["vendor"] => [...node.attributes].filter((at) => at.namespaceURI && at.namespaceURI !== BPMN && at.prefix !== "xmlns" && at.name !== "xmlns").map(({ name, value }) => ({ name: prefix + name, value }));
const of = (node: Document | Element, name: string): Element[] => [...node.getElementsByTagNameNS(BPMN, name)];
const attribute = (node: Element, name: string): string => node.getAttribute(name) ?? "";
const localName = (reference: string): string => reference.split(":").at(-1) ?? "";

/** In the order of the flow; what no flow leads to comes where the file has it. */
function alongFlow(elements: FileElement[], flows: Map<string, FileFlow>): FileElement[] {
  const byId = new Map(elements.map((each) => [each.id, each]));
  const next = new Map<string, string[]>();
  for (const { source, target } of flows.values()) next.set(source, [...(next.get(source) ?? []), target]);
  const ahead = new Set([...flows.values()].map(({ target }) => target));
  const order = new Set<FileElement>();
  const visit = (id: string) => {
    const rest = [id];
    for (let at = rest.shift(); at !== undefined; at = rest.shift()) {
      const each = byId.get(at);
      if (!each || order.has(each)) continue;
      order.add(each);
      rest.unshift(...(next.get(at) ?? []));
    }
  };
  for (const each of elements) if (!ahead.has(each.id) && each.type !== "boundaryEvent") visit(each.id);
  for (const each of elements) visit(each.id);
  return [...order];
}

export const outOf = (file: DrawingFile, id: string): FileFlow[] => [...file.flows.values()].filter((flow) => flow.source === id && !flow.message);
export const intoOf = (file: DrawingFile, id: string): FileFlow[] => [...file.flows.values()].filter((flow) => flow.target === id && !flow.message);

/** The element that a to-do is about: the process itself is its pool. */
export function placeOf(file: DrawingFile, { element: id, process }: { element: string; process: string }): string {
  return id || (file.processes.find((each) => each.id === process)?.pool ?? "");
}
