/** What a node is called: by its author, else by the word of its type when its id says no more than that. */
import type { GraphNode } from "../api/types";

export function labelOf(node: Pick<GraphNode, "id" | "label" | "type">, typeWord: string): string {
  const unnamed = node.label === node.id && (node.id === node.type || node.id.startsWith(`${node.type}.`));
  return unnamed ? typeWord.charAt(0).toUpperCase() + typeWord.slice(1) : node.label;
}
