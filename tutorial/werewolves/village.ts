import type { Random } from '@agentjet/core';

/**
 * The rules: the living players, their roles, and the winner. This file uses no model, and recognizes no words of an
 * answer but names.
 */

export const names = ['Ada', 'Bo', 'Cy', 'Dee', 'Eli', 'Fay'] as const;
export type Name = (typeof names)[number];
export type Role = 'werewolf' | 'seer' | 'villager';

/** Players in the order in which they speak. */
export type Cast = readonly { readonly name: Name; readonly role: Role }[];

const roles: readonly Role[] = ['werewolf', 'werewolf', 'seer', 'villager', 'villager', 'villager'];

function shuffle<T>(items: readonly T[], random: Random): readonly T[] {
  return items
    .map((item) => ({ item, key: random.next() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

export function createCast(random: Random): Cast {
  const drawn = shuffle(roles, random);
  return shuffle(names, random).map((name, index) => ({ name, role: drawn[index] ?? 'villager' }));
}

export type Side = 'werewolf' | 'villager';

export class Village {
  readonly cast: Cast;
  readonly #alive: Set<Name>;

  constructor(cast: Cast) {
    this.cast = cast;
    this.#alive = new Set(cast.map(({ name }) => name));
  }

  /** The living players, in the order in which they speak. */
  get alive(): readonly Name[] {
    return [...this.#alive];
  }

  roleOf(name: Name): Role {
    return this.cast.find((player) => player.name === name)?.role ?? 'villager';
  }

  /** A name that does not belong to a living player changes nothing. */
  remove(name: Name | undefined): Name | undefined {
    return name !== undefined && this.#alive.delete(name) ? name : undefined;
  }

  /** Werewolves win as soon as they are half of the living players. */
  get winner(): Side | undefined {
    const numWerewolves = this.alive.filter((name) => this.roleOf(name) === 'werewolf').length;
    if (numWerewolves === 0) return 'villager';
    return 2 * numWerewolves >= this.#alive.size ? 'werewolf' : undefined;
  }
}

/** Returns the name with the most votes. In a tie, it returns the name that was named first. */
export function mostNamed(votes: readonly (Name | undefined)[]): Name | undefined {
  const counts = new Map<Name, number>();
  for (const vote of votes) if (vote !== undefined) counts.set(vote, (counts.get(vote) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  return [...counts].find(([, count]) => count === most)?.[0];
}

/** Returns the first player that the answer names. */
export function findName(text: string): Name | undefined {
  const found = new RegExp(`\\b(${names.join('|')})\\b`).exec(text)?.[1];
  return names.find((name) => name === found);
}
