import type { TurnDescription } from '../contract.js';
import { idsOf, type TreeSegment, segmentAt, type TokenPosition, TokenTree } from '../tokens/token-tree.js';
import type { Branch, EpisodeTree, TokenSpan } from './episode-tree.js';

/** Merges the rows of an episode into a tree. `turns` is the result of `ContextTracker.describe`. */
export function layOutEpisode(
  rows: readonly { readonly ids: ArrayLike<number> }[],
  turns: readonly TurnDescription[],
): EpisodeTree {
  const tree = new TokenTree();
  const ends = rows.map(({ ids }) => tree.insert(tree.root, Int32Array.from(ids)));
  const sheets = layOutSheets(tree, ends);
  for (const turn of turns) paintTurn(turn, ends, sheets);
  const branches = toBranches(tree.root.segment, sheets);
  const treeTokens = [...sheets.keys()].reduce((sum, { start, end }) => sum + end - start, 0);
  return {
    branches,
    turns,
    treeTokens,
    rowTokens: rows.reduce((sum, { ids }) => sum + ids.length, 0),
  };
}

type Mark = Omit<TokenSpan, 'start' | 'end'>;

/** The rows, turns and marks of one segment. There is one mark for each token. */
type Sheet = { readonly rows: number[]; readonly begun: number[]; readonly marks: (Mark | undefined)[] };
type Sheets = ReadonlyMap<TreeSegment, Sheet>;

function layOutSheets(tree: TokenTree, ends: readonly TokenPosition[]): Sheets {
  const sheets = new Map<TreeSegment, Sheet>();
  for (const [row, end] of ends.entries()) {
    for (const segment of pathUp(end)) {
      const sheet = sheets.get(segment) ?? {
        rows: [],
        begun: [],
        marks: Array.from({ length: segment.end - segment.start }),
      };
      sheet.rows.push(row);
      sheets.set(segment, sheet);
    }
  }
  sheets.delete(tree.root.segment);
  return sheets;
}

/** Returns the segments on the way to the root, which comes last and is empty. */
function* pathUp(end: TokenPosition): Generator<TreeSegment> {
  for (let segment: TreeSegment | undefined = segmentAt(end); segment !== undefined; segment = segment.parent)
    yield segment;
}

function paintTurn(
  { index, sample, promptTokens, generatedTokens, reusedTokens, parts }: TurnDescription,
  ends: readonly TokenPosition[],
  sheets: Sheets,
): void {
  const end = sample === null ? undefined : ends[sample];
  if (end === undefined) return;
  const marks = [
    ...parts.map(({ start, end: partEnd, ...author }) => ({ start, end: partEnd, ...author, turns: [] })),
    { start: promptTokens, end: promptTokens + generatedTokens, author: 'generated', turns: [index] } as const,
  ];
  for (const segment of pathUp(end)) {
    const sheet = sheets.get(segment);
    if (sheet === undefined || segment.end <= Math.min(reusedTokens, marks[0]?.start ?? 0)) break;
    if (segment.start <= reusedTokens && reusedTokens < segment.end) sheet.begun.push(index);
    for (const mark of marks) paint(segment, sheet, mark);
  }
}

/**
 * Marks the tokens of a span. A token that is marked as sampled keeps this mark. If several messages contain a token,
 * the first one counts.
 */
function paint(segment: TreeSegment, { marks }: Sheet, { start, end, ...mark }: TokenSpan): void {
  const joined = new Map<Mark, Mark>();
  for (let depth = Math.max(start, segment.start); depth < Math.min(end, segment.end); depth++) {
    const before = marks[depth - segment.start];
    if (before === undefined || (before.author !== 'generated' && mark.author === 'generated'))
      marks[depth - segment.start] = mark;
    else if (mark.author === 'generated') marks[depth - segment.start] = join(before, mark, joined);
  }
}

/** Merges two marks. Returns the same object for the same pair, so that neighbours can be compared by identity. */
function join(before: Mark, mark: Mark, joined: Map<Mark, Mark>): Mark {
  const both = joined.get(before) ?? { ...mark, turns: [...before.turns, ...mark.turns] };
  joined.set(before, both);
  return both;
}

function toBranches(root: TreeSegment, sheets: Sheets): readonly Branch[] {
  const below = new Map<TreeSegment, Branch[]>();
  const open = [root];
  const order: TreeSegment[] = [];
  for (let segment = open.pop(); segment !== undefined; segment = open.pop()) {
    order.push(segment);
    for (const child of segment.children.values()) open.push(child);
  }
  for (const segment of order.reverse()) {
    const sheet = sheets.get(segment);
    const children = (below.get(segment) ?? []).sort((left, right) => (left.rows[0] ?? 0) - (right.rows[0] ?? 0));
    below.delete(segment);
    if (sheet === undefined || segment.parent === undefined) return children;
    const siblings = below.get(segment.parent) ?? [];
    siblings.push(toBranch(segment, sheet, children));
    below.set(segment.parent, siblings);
  }
  return [];
}

function toBranch(segment: TreeSegment, { rows, begun, marks }: Sheet, children: readonly Branch[]): Branch {
  const { start, end } = segment;
  const size = end - start + children.reduce((sum, child) => sum + child.size, 0);
  return {
    start,
    end,
    ids: idsOf(segment),
    rows,
    begun: begun.sort((left, right) => left - right),
    spans: toSpans(start, marks),
    children,
    size,
  };
}

const ofTemplate: Mark = { author: 'template', turns: [] };

function toSpans(start: number, marks: readonly (Mark | undefined)[]): readonly TokenSpan[] {
  const spans: TokenSpan[] = [];
  for (let at = 0; at < marks.length; ) {
    const mark = marks[at];
    let end = at + 1;
    while (end < marks.length && marks[end] === mark) end++;
    spans.push({ ...(mark ?? ofTemplate), start: start + at, end: start + end });
    at = end;
  }
  return spans;
}
