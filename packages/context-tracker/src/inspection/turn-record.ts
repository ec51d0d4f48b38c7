import { camelKeys, snakeKeys } from '@agentjet/core';
import type { TurnDescription } from '../contract.js';

/** A turn as an episode's record keeps it under `turns`: snake_case keys. */
export type TurnRecord = Readonly<Record<string, unknown>>;

export function toTurnRecord(turn: TurnDescription): TurnRecord {
  return snakeKeys(turn);
}

/** The turns of an episode's record; undefined if the record is older than turns are. */
export function readTurnRecords(turns: unknown): readonly TurnDescription[] | undefined {
  return Array.isArray(turns) ? turns.map((turn) => camelKeys(turn) as TurnDescription) : undefined;
}
