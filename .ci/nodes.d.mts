export type NodeRelease = { readonly version: string; readonly npm?: string };
export const nodes: Readonly<Record<string, NodeRelease>>;
export function installNode(node: NodeRelease): readonly string[];
