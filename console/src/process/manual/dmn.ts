/** Decision tables out of DMN text, as people read them. */

export interface DecisionTable {
  id: string;
  name: string;
  hitPolicy: string;
  inputs: string[];
  outputs: string[];
  rules: { inputs: string[]; outputs: string[] }[];
}

export function decisionTables(dmn: string): DecisionTable[] {
  if (!dmn.trim()) return [];
  const root = new DOMParser().parseFromString(dmn, "application/xml");
  if (root.querySelector("parsererror")) return [];
  return children(root.documentElement, "decision").flatMap((decision) => children(decision, "decisionTable").map((table) => tableOf(decision, table)));
}

function tableOf(decision: Element, table: Element): DecisionTable {
  return {
    id: attribute(decision, "id"), name: attribute(decision, "name") || attribute(decision, "id"), hitPolicy: attribute(table, "hitPolicy") || "UNIQUE",
    inputs: children(table, "input").map((input) => attribute(input, "label") || textIn(children(input, "inputExpression")[0])),
    outputs: children(table, "output").map((output) => attribute(output, "label") || attribute(output, "name") || attribute(decision, "name")),
    rules: children(table, "rule").map((rule) => ({ inputs: children(rule, "inputEntry").map(textIn), outputs: children(rule, "outputEntry").map(textIn) })),
  };
}

const children = (node: Element, name: string): Element[] => [...node.children].filter(({ localName }) => localName === name);
const attribute = (node: Element, name: string): string => node.getAttribute(name) ?? "";
const textIn = (node: Element | undefined): string => (node ? (children(node, "text")[0]?.textContent?.trim() ?? "") : "");
