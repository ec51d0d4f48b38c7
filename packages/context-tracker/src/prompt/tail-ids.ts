import { joinIds, type Tokenizer } from '@agentjet/tokenizer';
import { readPath } from '../tokens/token-tree.js';
import type { SeenState, GeneratedTurn } from '../history/seen-state.js';
import { endAt, type TurnMarks } from './turn-marks.js';

export type TailIdsOptions = {
  readonly tokenizer: Pick<Tokenizer, 'encode'>;
  readonly marks: TurnMarks;
  readonly before: SeenState | undefined;
};

/**
 * Returns the ids of the tail: the text after the part of the prompt that the tracker already knows. The tail may
 * contain recorded turns that were sampled after other messages. These turns keep the ids that the model wrote if the
 * template prints their text unchanged.
 */
export function toTailIds(
  text: string,
  turns: readonly GeneratedTurn[],
  { tokenizer, marks, before }: TailIdsOptions,
): Int32Array {
  const pieces: Int32Array[] = [];
  let from = 0;
  for (const turn of turns.filter((candidate) => candidate.text !== '')) {
    const at =
      from === 0 && before?.kind === 'prompt' && text.startsWith(turn.text) ? 0 : findTurn(text, from, turn, marks);
    const end = at + turn.text.length;
    const mark = at === -1 ? undefined : endAt(marks, text, end);
    if (mark === undefined) continue;
    if (at > from) pieces.push(tokenizer.encode(text.slice(from, at)));
    pieces.push(idsOf(turn));
    from = turn.isStopped ? end + mark.length : end;
  }
  pieces.push(tokenizer.encode(text.slice(from)));
  return joinIds(pieces);
}

function findTurn(text: string, from: number, turn: GeneratedTurn, { header }: TurnMarks): number {
  const at = header === '' ? -1 : text.indexOf(header + turn.text, from);
  return at === -1 ? -1 : at + header.length;
}

/** Shape [G]: the ids that the engine sampled. */
function idsOf(turn: GeneratedTurn): Int32Array {
  return readPath(turn.position).subarray(turn.before.position.depth);
}
