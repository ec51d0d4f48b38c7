import type { SourceCard } from './task-table.js';

/** The record of a run's tasks: where they come from, how many there are, and which were left out. */
export type TasksCard = {
  readonly training: SideCard;
  readonly evaluation: SideCard;
};

export type SideCard = {
  /** Null if the number is unknown. */
  readonly tasks: number | null;
  readonly sources: readonly SourceCard[];
  /** The reasons for which at least one task was left out. */
  readonly dropped: readonly DroppedTasks[];
};

export type DroppedTasks = {
  /** A description such as `exact duplicate of an earlier task`. */
  readonly reason: string;
  readonly count: number;
  /** Where some of these tasks are. */
  readonly examples: readonly string[];
};
