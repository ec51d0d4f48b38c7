import type { ForkCause } from '@agentjet/core';
import type { Tokenizer } from '@agentjet/tokenizer';
import type { HistoryEntry, MessageNode } from '../history/message-node.js';
import type { History } from '../history/read-history.js';
import { readPath, readPathWith, type TokenPosition, type TokenTree } from '../tokens/token-tree.js';
import type { RenderedPrompt, SeenState, GeneratedTurn } from '../history/seen-state.js';
import { toTailIds } from './tail-ids.js';
import type { TailRenderer } from './tail-text.js';
import type { TurnMarks } from './turn-marks.js';

/** A prompt that is ready for the engine. It is not written into the tree yet. */
export type PreparedPrompt = {
  /** Shape [P]. */
  readonly ids: Int32Array;
  /** Number of leading ids that are already in the token tree. */
  readonly reusedTokens: number;
  readonly fork: ForkCause | undefined;
  /** The position in the tree after which the new ids go. */
  readonly from: TokenPosition;
  /** Number of new ids at the end. */
  readonly numNew: number;
  /** The messages that the new ids were rendered from. */
  readonly added: readonly HistoryEntry[];
  /** Present if the same messages were prompted before. */
  readonly existing: RenderedPrompt | undefined;
  readonly before: SeenState | undefined;
  readonly text: string;
  readonly checkedLength: number;
  /** The text that the answer must begin with, which is the end of `text`. */
  readonly opening: string;
  /** Number of ids at the end that spell the opening. */
  readonly numOpening: number;
};

export type PromptTools = {
  readonly tree: TokenTree;
  readonly tokenizer: Pick<Tokenizer, 'encode'>;
  readonly marks: TurnMarks;
  readonly tails: TailRenderer;
};

export function preparePrompt(
  { node, tail, cause }: History,
  { tree, tokenizer, marks, tails }: PromptTools,
): PreparedPrompt {
  if (tail.length === 0 && node.prompt !== undefined) return repeatPrompt(node.prompt);
  const { before, text, isKept, added, checkedLength } = tails.render(node, tail);
  const newIds = toTailIds(text, turnsAfter(before, node, tail), { tokenizer, marks, before });
  const from = before?.position ?? tree.root;
  const ids = readPathWith(from, newIds);
  const reusedTokens = from.depth + tree.match(from, newIds);
  return {
    ids,
    reusedTokens,
    fork: cause ?? (isKept ? undefined : 'template'),
    from,
    numNew: newIds.length,
    added,
    existing: undefined,
    before,
    text,
    checkedLength,
    opening: '',
    numOpening: 0,
  };
}

function repeatPrompt(prompt: RenderedPrompt): PreparedPrompt {
  const { position, before, text, checkedLength } = prompt;
  return {
    ids: readPath(position),
    reusedTokens: position.depth,
    fork: undefined,
    from: position,
    numNew: 0,
    added: [],
    existing: prompt,
    before,
    text,
    checkedLength,
    opening: '',
    numOpening: 0,
  };
}

/**
 * Returns the recorded turns among the messages after `before`. A new message counts as a recorded turn only if its
 * call ids prove it: text that merely equals a turn from another node stays text.
 */
function turnsAfter(
  before: SeenState | undefined,
  node: MessageNode,
  tail: readonly HistoryEntry[],
): readonly GeneratedTurn[] {
  const known: GeneratedTurn[] = [];
  for (
    let current: MessageNode | undefined = node;
    current?.message !== undefined && !isStateOf(current, before);
    current = current.parent
  ) {
    if (current.origin !== undefined) known.push(current.origin);
  }
  const added = tail.flatMap(({ origin }) =>
    origin === undefined || (origin.message.toolCalls ?? []).length === 0 ? [] : [origin],
  );
  return [...known.reverse(), ...added];
}

function isStateOf(node: MessageNode, state: SeenState | undefined): boolean {
  return state !== undefined && (node.turn === state || node.prompt === state);
}
