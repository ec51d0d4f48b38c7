import { camelKeys, snakeKeys } from '@agentjet/core';
import type { TurnDescription } from '@agentjet/context-tracker';

/** A turn as it stands in episodes/, under `turns`. */
export type TurnRecord = Readonly<Record<string, unknown>>;

export function toTurnRecord(turn: TurnDescription): TurnRecord {
  return snakeKeys(turn);
}

/** The turns of an episode's record; undefined for episodes that were kept before turns were. */
export function readTurnRecords(turns: unknown): readonly TurnDescription[] | undefined {
  return Array.isArray(turns) ? turns.map((turn) => camelKeys(turn) as TurnDescription) : undefined;
}
