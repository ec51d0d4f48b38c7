import type { Random } from '@agentjet/core';

/** A frozen lake of 4 by 4 cells: a start, a goal, two holes, and ice everywhere else. The ice is not slippery. */

export const directions = ['up', 'down', 'left', 'right'] as const;
export type Direction = (typeof directions)[number];

/** Cells are numbered row by row from 0. */
export type LakeMap = { readonly start: number; readonly goal: number; readonly holes: readonly number[] };

const size = 4;
const numHoles = 2;
const numCells = size * size;
const shifts = { up: [-1, 0], down: [1, 0], left: [0, -1], right: [0, 1] } as const;

function rowOf(cell: number): number {
  return Math.floor(cell / size);
}

function columnOf(cell: number): number {
  return cell % size;
}

/** Returns the next cell in a direction, or undefined at the edge. */
function neighbour(cell: number, direction: Direction): number | undefined {
  const [down, right] = shifts[direction];
  const row = rowOf(cell) + down;
  const column = columnOf(cell) + right;
  const isInside = row >= 0 && row < size && column >= 0 && column < size;
  return isInside ? row * size + column : undefined;
}

function canReach(map: LakeMap): boolean {
  const seen = new Set([map.start]);
  for (const cell of seen) {
    for (const direction of directions) {
      const next = neighbour(cell, direction);
      if (next !== undefined && !map.holes.includes(next)) seen.add(next);
    }
  }
  return seen.has(map.goal);
}

/** Returns the number of steps between two cells on a lake without holes. */
function distance(a: number, b: number): number {
  return Math.abs(rowOf(a) - rowOf(b)) + Math.abs(columnOf(a) - columnOf(b));
}

/** Draws a random map. The goal can be reached, but not in one step. */
export function createLakeMap(random: Random): LakeMap {
  for (;;) {
    const cells = new Set<number>();
    while (cells.size < 2 + numHoles) cells.add(random.int(numCells));
    const [start = 0, goal = 0, ...holes] = cells;
    const map = { start, goal, holes: holes.toSorted((a, b) => a - b) };
    if (distance(start, goal) >= 2 && canReach(map)) return map;
  }
}

export type LakeState = 'walking' | 'goal' | 'hole';

/** One walk over a map. */
export class FrozenLake {
  readonly map: LakeMap;
  #cell: number;

  constructor(map: LakeMap) {
    this.map = map;
    this.#cell = map.start;
  }

  get state(): LakeState {
    if (this.#cell === this.map.goal) return 'goal';
    return this.map.holes.includes(this.#cell) ? 'hole' : 'walking';
  }

  /** Walks one cell. At the edge the walker stays on its cell. */
  step(direction: Direction): LakeState {
    this.#cell = neighbour(this.#cell, direction) ?? this.#cell;
    return this.state;
  }

  /**
   * Describes what the walker sees on each side: ice, a hole or the edge, and whether a step there leads closer to the
   * goal.
   */
  describe(): string {
    return directions.map((direction) => `${direction}: ${this.#look(direction)}`).join('\n');
  }

  #look(direction: Direction): string {
    const cell = neighbour(this.#cell, direction);
    if (cell === undefined) return 'edge';
    const isCloser = distance(cell, this.map.goal) < distance(this.#cell, this.map.goal);
    const ground = this.map.holes.includes(cell) ? 'hole' : 'ice';
    return isCloser ? `${ground}, closer` : ground;
  }
}
