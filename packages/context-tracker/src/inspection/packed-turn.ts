import type { CallTimes, TurnDescription, TurnPart } from '../contract.js';
import { toTenths } from '../turn/call-times.js';

/**
 * The turns of an episode in the form that the store of a swarm keeps: numbers, some of which are positions in a list
 * of names. Values that most turns share are left out. The numbers are in one list, because printing one list takes
 * half the time of nested lists. A server prints all turns of an episode while a client waits for the receipt of its
 * end.
 */
export type PackedTurns = {
  readonly names: readonly string[];
  /** For each turn: `numbersOfTurn`, then `numbersOfPart` of each of its parts. */
  readonly numbers: readonly number[];
  /** Unusual values by the position of the turn. */
  readonly unusual?: Readonly<Record<string, Unusual>>;
  /** For each turn: `numbersOfTimes`. Absent if no turn has times. */
  readonly times?: readonly number[];
};

/** Fields that most turns do not have. */
type Unusual = Partial<Pick<TurnDescription, 'isTruncated' | 'isTrained' | 'fork' | 'splices' | 'foreignMessages'>>;

/** Marks a missing number. */
const none = -1;

/**
 * Packs all turns of an episode, ordered by `index`. `laterMs` is added to the times of calls, if the clock that measured
 * them began later than the episode.
 */
export function packTurns(turns: readonly TurnDescription[], laterMs = 0): PackedTurns {
  const names: string[] = [];
  const numbers: number[] = [];
  let unusual: Record<string, Unusual> | undefined;
  for (const [index, turn] of turns.entries()) {
    const { turnId, agentName, targetTag, promptTokens, reusedTokens, generatedTokens, policyVersion, sample } = turn;
    const slash = turnId.lastIndexOf('/');
    const call = callOf(turnId, slash);
    numbers.push(placeOf(call === none ? turnId : turnId.slice(0, slash), names), call);
    numbers.push(
      placeOf(agentName, names),
      placeOf(targetTag, names),
      promptTokens,
      reusedTokens,
      generatedTokens,
      policyVersion,
    );
    numbers.push(sample ?? none, turn.parts.length);
    for (const { author, start, end, name } of turn.parts)
      numbers.push(placeOf(author, names), start, end, name === undefined ? none : placeOf(name, names));
    const rare = unusualOf(turn);
    if (rare !== undefined) (unusual ??= {})[index] = rare;
  }
  const times = turns.some((turn) => turn.times !== undefined) && { times: packTimes(turns, laterMs) };
  return { names, numbers, ...(unusual !== undefined && { unusual }), ...times };
}

/** Returns the position of a name in the list, and adds the name if it is missing. */
function placeOf(name: string, names: string[]): number {
  const known = names.indexOf(name);
  return known === -1 ? names.push(name) - 1 : known;
}

const numbersOfTimes = 5;

function packTimes(turns: readonly TurnDescription[], laterMs: number): readonly number[] {
  const numbers: number[] = [];
  for (const { times } of turns) {
    if (times === undefined) numbers.push(none, none, none, none, none);
    else {
      const { beganMs, endedMs, waitedMs = none, promptMs = none, samplingMs = none } = times;
      numbers.push(toTenths(beganMs + laterMs), toTenths(endedMs + laterMs), waitedMs, promptMs, samplingMs);
    }
  }
  return numbers;
}

function unpackTimes(numbers: readonly number[], index: number): CallTimes | undefined {
  const at = index * numbersOfTimes;
  const [beganMs = none, endedMs = none, waitedMs = none, promptMs = none, samplingMs = none] = numbers.slice(
    at,
    at + numbersOfTimes,
  );
  if (endedMs === none) return undefined;
  return {
    beganMs,
    endedMs,
    ...(waitedMs !== none && { waitedMs }),
    ...(promptMs !== none && { promptMs }),
    ...(samplingMs !== none && { samplingMs }),
  };
}

/** Returns the number at the end of a turn's id, after the episode's id and the last slash. */
function callOf(turnId: string, slash: number): number {
  const text = turnId.slice(slash + 1);
  const call = Number(text);
  return slash !== -1 && Number.isSafeInteger(call) && call >= 0 && String(call) === text ? call : none;
}

const numbersOfTurn = 10;
const numbersOfPart = 4;

/** Returns the turns that `packTurns` was given. */
export function unpackTurns({
  names,
  numbers,
  unusual = {},
  times: packedTimes = [],
}: PackedTurns): readonly TurnDescription[] {
  const turns: TurnDescription[] = [];
  for (let at = 0; at < numbers.length; ) {
    const [id = 0, call = none, agent = 0, target = 0, prompt = 0, reused = 0, generated = 0, version = 0, ...more] =
      numbers.slice(at, at + numbersOfTurn);
    const [sample = none, numParts = 0] = more;
    const parts = Array.from({ length: numParts }, (_none, index) => {
      const from = at + numbersOfTurn + index * numbersOfPart;
      return unpackPart(numbers.slice(from, from + numbersOfPart), names);
    });
    at += numbersOfTurn + numParts * numbersOfPart;
    const index = turns.length;
    const times = unpackTimes(packedTimes, index);
    turns.push({
      turnId: call === none ? nameAt(names, id) : `${nameAt(names, id)}/${call}`,
      index,
      agentName: nameAt(names, agent),
      targetTag: nameAt(names, target),
      promptTokens: prompt,
      reusedTokens: reused,
      generatedTokens: generated,
      policyVersion: version,
      ...usual,
      sample: sample === none ? null : sample,
      parts,
      ...unusual[index],
      ...(times !== undefined && { times }),
    });
  }
  return turns;
}

const nameAt = (names: readonly string[], place: number): string => names[place] ?? '';

function unpackPart(
  [author = 0, start = 0, end = 0, name = none]: readonly number[],
  names: readonly string[],
): TurnPart {
  const part = { author: nameAt(names, author) as TurnPart['author'], start, end };
  return name === none ? part : { ...part, name: nameAt(names, name) };
}

const usual = { isTruncated: false, fork: null, splices: [], foreignMessages: {} } as const;

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
