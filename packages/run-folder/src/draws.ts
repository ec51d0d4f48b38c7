/** One draw of a task: `index` is its position in the order of the pass `epoch` over the tasks. Both count from 0. */
export type Draw = { readonly epoch: number; readonly index: number };

/** The numbers from `from` up to `to`, which is not included. */
type Range = readonly [from: number, to: number];

/**
 * A set of draws as in state.json: for each epoch the indices as ascending ranges with gaps between them. A run whose
 * groups finish in order needs one range per epoch.
 */
export type Draws = readonly { readonly epoch: number; readonly ranges: readonly Range[] }[];

/** Returns the draws that steps have taken. A state that has only a count means the first draws. */
export function drawsOf(state: { readonly groupsDrawn: number; readonly draws?: Draws }): Draws {
  if (state.draws !== undefined) return state.draws;
  return state.groupsDrawn === 0 ? [] : [{ epoch: 0, ranges: [[0, state.groupsDrawn]] }];
}

/** Returns the set with these draws added. */
export function addDraws(draws: Draws, added: readonly Draw[]): Draws {
  const byEpoch = new Map(draws.map(({ epoch, ranges }) => [epoch, ranges]));
  for (const { epoch, index } of added) byEpoch.set(epoch, addIndex(byEpoch.get(epoch) ?? [], index));
  return [...byEpoch].map(([epoch, ranges]) => ({ epoch, ranges })).sort((a, b) => a.epoch - b.epoch);
}

function addIndex(ranges: readonly Range[], index: number): readonly Range[] {
  const before = ranges.filter(([, to]) => to < index);
  const after = ranges.filter(([from]) => from > index + 1);
  const touching = ranges.slice(before.length, ranges.length - after.length);
  const from = Math.min(index, touching[0]?.[0] ?? index);
  const to = Math.max(index + 1, touching.at(-1)?.[1] ?? index + 1);
  return [...before, [from, to], ...after];
}

/** Returns whether a parsed value is a set of draws. */
export function areDraws(value: unknown): value is Draws {
  return Array.isArray(value) && value.every(isEpoch) && isAscending(value.map(({ epoch }) => epoch));
}

function isEpoch(value: unknown): value is Draws[number] {
  if (typeof value !== 'object' || value === null || !('epoch' in value) || !('ranges' in value)) return false;
  const { epoch, ranges } = value;
  if (!isCount(epoch) || !Array.isArray(ranges) || !ranges.every(isRange)) return false;
  return isAscending(ranges.flat());
}

function isRange(value: unknown): value is Range {
  return Array.isArray(value) && value.length === 2 && value.every(isCount);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isAscending(values: readonly number[]): boolean {
  return values.every((value, at) => at === 0 || value > Number(values[at - 1]));
}
