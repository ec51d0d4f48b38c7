import { compareText } from '@agentjet/core';
import type { SampledCall } from './sampled-call.js';
import { type TreeSegment, segmentAt, type TokenPosition, type TokenTree } from './token-tree.js';

/**
 * A row of an episode. Together, the rows are the fewest that train each call exactly once. A row is the path from the
 * root to the end of a call. It trains this call, and also the calls of its agent that end on the path. Calls with
 * identical sampled tokens (the same prompt, the same answer, sampled again) are in different rows, because each
 * sampling counts. The order depends on the ids alone, and therefore not on the order of commits.
 */
export type CallRow = {
  /** The call whose end is the row's end. */
  readonly leaf: SampledCall;
  /** Calls trained here, last first, including `leaf`. */
  readonly calls: SampledCall[];
  /** No token before this depth is trained here yet. */
  firstTrained: number;
};

export function layRows(tree: TokenTree, calls: readonly SampledCall[]): readonly CallRow[] {
  const callsAt = groupBySegment(calls);
  const rowsBelow = new Map<TreeSegment, CallRow[]>();
  for (const segment of childrenFirst(tree.root.segment)) {
    const rows = takeRowsOfChildren(segment, rowsBelow);
    for (const call of callsAt.get(segment) ?? []) place(call, rows);
    rowsBelow.set(segment, rows);
  }
  return rowsBelow.get(tree.root.segment) ?? [];
}

/** Groups calls by the segment that they end in, deepest first. Calls that sampled nothing are left out. */
function groupBySegment(calls: readonly SampledCall[]): Map<TreeSegment, SampledCall[]> {
  const groups = new Map<TreeSegment, SampledCall[]>();
  for (const call of calls.filter(({ end, promptLength }) => end.depth > promptLength)) {
    const segment = segmentAt(call.end);
    const group = groups.get(segment);
    if (group === undefined) groups.set(segment, [call]);
    else group.push(call);
  }
  for (const group of groups.values()) group.sort(compareCalls);
  return groups;
}

function place(call: SampledCall, rows: CallRow[]): void {
  const { agent, end, promptLength } = call;
  const row = rows.find(
    ({ leaf, firstTrained }) =>
      firstTrained >= end.depth && leaf.agent.agentName === agent.agentName && leaf.agent.targetTag === agent.targetTag,
  );
  if (row === undefined) {
    rows.push({ leaf: call, calls: [call], firstTrained: promptLength });
    return;
  }
  row.calls.push(call);
  row.firstTrained = promptLength;
}

function takeRowsOfChildren(segment: TreeSegment, rowsBelow: Map<TreeSegment, CallRow[]>): CallRow[] {
  const children = sortedChildren(segment);
  const rows = children.map((child) => rowsBelow.get(child) ?? []);
  for (const child of children) rowsBelow.delete(child);
  return rows.length === 1 ? (rows[0] ?? []) : rows.flat();
}

/** Returns all segments, each after its children. */
function childrenFirst(root: TreeSegment): readonly TreeSegment[] {
  const order: TreeSegment[] = [];
  const open = [root];
  for (let segment = open.pop(); segment !== undefined; segment = open.pop()) {
    order.push(segment);
    for (const child of segment.children.values()) open.push(child);
  }
  return order.reverse();
}

/** Returns children ordered by first id. */
function sortedChildren({ children }: TreeSegment): readonly TreeSegment[] {
  if (children.size < 2) return [...children.values()];
  return [...children].sort(([left], [right]) => left - right).map(([, child]) => child);
}

/** Orders the deepest first, then by everything that a sample contains, so that the order of commits has no effect. */
function compareCalls(left: SampledCall, right: SampledCall): number {
  return (
    compareDepth(right.end, left.end) ||
    left.promptLength - right.promptLength ||
    compareText(left.agent.agentName, right.agent.agentName) ||
    compareText(left.agent.targetTag, right.agent.targetTag) ||
    left.policyVersion - right.policyVersion ||
    compareNumbers(left.logprobs, right.logprobs) ||
    left.index - right.index
  );
}

function compareDepth(left: TokenPosition, right: TokenPosition): number {
  return left.depth - right.depth;
}

function compareNumbers(left: Float32Array, right: Float32Array): number {
  const at = left.findIndex((value, index) => value !== right[index]);
  return at === -1 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}
