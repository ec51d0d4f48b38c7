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
type Unusual = Partial<
  Pick<TurnDescription, 'isTruncated' | 'hasStopToken' | 'isTrained' | 'fork' | 'splices' | 'foreignMessages'>
>;

/** Marks a missing number. */
const none = -1;

/**
 * Packs the turns of an episode one by one. A server packs each turn when it is recorded. At the end of the episode its
 * description is no longer in the cache of the processor, and reading it again would take longer than packing it.
 */
export class TurnPacker {
  readonly #names: string[] = [];
  readonly #numbers: number[] = [];
  readonly #times: number[] = [];
  #unusual: Record<string, Unusual> | undefined;
  #numTurns = 0;
  #hasTimes = false;

  /** Adds the next turn, in the order of `index`. */
  add(turn: TurnDescription): void {
    const { turnId, agentName, targetTag, promptTokens, reusedTokens, generatedTokens, policyVersion, sample } = turn;
    const slash = turnId.lastIndexOf('/');
    const call = callOf(turnId, slash);
    this.#numbers.push(this.#placeOf(call === none ? turnId : turnId.slice(0, slash)), call);
    this.#numbers.push(this.#placeOf(agentName), this.#placeOf(targetTag));
    this.#numbers.push(promptTokens, reusedTokens, generatedTokens, policyVersion, sample ?? none, turn.parts.length);
    for (const { author, start, end, name } of turn.parts)
      this.#numbers.push(this.#placeOf(author), start, end, name === undefined ? none : this.#placeOf(name));
    this.#addTimes(turn.times);
    const rare = unusualOf(turn);
    if (rare !== undefined) (this.#unusual ??= {})[this.#numTurns] = rare;
    this.#numTurns++;
  }

  /**
   * Returns the turns so far. `laterMs` is added to the times of calls, if the clock that measured them began later than
   * the episode.
   */
  read(laterMs = 0): PackedTurns {
    const packed: { -readonly [Key in keyof PackedTurns]: PackedTurns[Key] } = {
      names: this.#names.slice(),
      numbers: this.#numbers.slice(),
    };
    if (this.#unusual !== undefined) packed.unusual = { ...this.#unusual };
    if (this.#hasTimes) packed.times = movedBy(laterMs, this.#times);
    return packed;
  }

  /** Returns the position of a name in the list, and adds the name if it is missing. */
  #placeOf(name: string): number {
    const known = this.#names.indexOf(name);
    return known === -1 ? this.#names.push(name) - 1 : known;
  }

  #addTimes(times: CallTimes | undefined): void {
    if (times === undefined) return void this.#times.push(none, none, none, none, none);
    const { beganMs, endedMs, waitedMs = none, promptMs = none, samplingMs = none } = times;
    this.#times.push(beganMs, endedMs, waitedMs, promptMs, samplingMs);
    this.#hasTimes = true;
  }
}

/** Packs all turns of an episode, ordered by `index`. See `TurnPacker.read` for `laterMs`. */
export function packTurns(turns: readonly TurnDescription[], laterMs = 0): PackedTurns {
  const packer = new TurnPacker();
  for (const turn of turns) packer.add(turn);
  return packer.read(laterMs);
}

const numbersOfTimes = 5;

/** Adds `laterMs` to the beginning and the end of each call. */
function movedBy(laterMs: number, times: readonly number[]): readonly number[] {
  const moved = times.slice();
  for (let at = 0; at < times.length; at += numbersOfTimes) {
    const [beganMs = none, endedMs = none] = [times[at], times[at + 1]];
    if (endedMs === none) continue;
    moved[at] = toTenths(beganMs + laterMs);
    moved[at + 1] = toTenths(endedMs + laterMs);
  }
  return moved;
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

function unusualOf(turn: TurnDescription): Unusual | undefined {
  const { isTruncated, hasStopToken, isTrained, fork, splices, foreignMessages } = turn;
  const isWhole = !isTruncated && hasStopToken === undefined;
  const isUsual = isWhole && isTrained === undefined && fork === null && splices.length === 0;
  if (isUsual && isEmpty(foreignMessages)) return undefined;
  return {
    ...(isTruncated && { isTruncated }),
    ...(hasStopToken === false && { hasStopToken }),
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
