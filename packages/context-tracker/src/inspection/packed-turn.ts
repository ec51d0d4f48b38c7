import type { TurnDescription, TurnPart } from '../contract.js';
import { toTurnRecord, type TurnRecord } from './turn-record.js';

/**
 * A turn as the store of a swarm keeps it: values in a fixed order instead of names, and what is as usual is left out. A server
 * writes all turns of an episode while a client waits for the receipt of its end, and names cost more than values.
 */
export type PackedTurn = readonly [
  turnId: string,
  agentName: string,
  targetTag: string,
  promptTokens: number,
  reusedTokens: number,
  generatedTokens: number,
  policyVersion: number,
  sample: number | null,
  parts: readonly PackedPart[],
  unusual?: Unusual,
];

type PackedPart = readonly [author: TurnPart['author'], start: number, end: number, name?: string];

/** What most turns have in common. */
type Unusual = Partial<Pick<TurnDescription, 'isTruncated' | 'isTrained' | 'fork' | 'splices' | 'foreignMessages'>>;

/** All turns of an episode, by their `index`. Lists that grow are printed faster than lists that `map` makes. */
export function packTurns(turns: readonly TurnDescription[]): readonly PackedTurn[] {
  const packed: PackedTurn[] = [];
  for (const turn of turns) {
    const { turnId, agentName, targetTag, promptTokens, reusedTokens, generatedTokens, policyVersion, sample } = turn;
    const parts: PackedPart[] = [];
    for (const part of turn.parts) parts.push(packPart(part));
    const unusual = unusualOf(turn);
    const usual = [
      turnId,
      agentName,
      targetTag,
      promptTokens,
      reusedTokens,
      generatedTokens,
      policyVersion,
      sample,
      parts,
    ] as const;
    packed.push(unusual === undefined ? usual : [...usual, unusual]);
  }
  return packed;
}

/** As an episode's record has them. Older stores keep the records themselves. */
export function unpackTurns(turns: readonly (PackedTurn | TurnRecord)[]): readonly TurnRecord[] {
  return turns.map((turn, index) => (isPacked(turn) ? toTurnRecord(unpackTurn(turn, index)) : turn));
}

const isPacked = (turn: PackedTurn | TurnRecord): turn is PackedTurn => Array.isArray(turn);

function unpackTurn(turn: PackedTurn, index: number): TurnDescription {
  const [turnId, agentName, targetTag, promptTokens, reusedTokens, generatedTokens, policyVersion, sample, parts] =
    turn;
  return {
    turnId,
    index,
    agentName,
    targetTag,
    promptTokens,
    reusedTokens,
    generatedTokens,
    policyVersion,
    isTruncated: false,
    fork: null,
    sample,
    splices: [],
    foreignMessages: {},
    parts: parts.map(unpackPart),
    ...turn[9],
  };
}

function unusualOf({ isTruncated, isTrained, fork, splices, foreignMessages }: TurnDescription): Unusual | undefined {
  const isUsual = !isTruncated && isTrained === undefined && fork === null && splices.length === 0;
  if (isUsual && isEmpty(foreignMessages)) return undefined;
  return {
    ...(isTruncated && { isTruncated }),
    ...(isTrained === false && { isTrained }),
    ...(fork !== null && { fork }),
    ...(splices.length > 0 && { splices }),
    ...(!isEmpty(foreignMessages) && { foreignMessages }),
  };
}

function isEmpty(counts: object): boolean {
  for (const _name in counts) return false;
  return true;
}

const packPart = ({ author, start, end, name }: TurnPart): PackedPart =>
  name === undefined ? [author, start, end] : [author, start, end, name];

const unpackPart = ([author, start, end, name]: PackedPart): TurnPart =>
  name === undefined ? { author, start, end } : { author, name, start, end };
