import type { SourceCard } from './task-table.js';

/** What a run's tasks are, for its record: where they come from, how many there are, and which were left out. */
export type TasksCard = {
  readonly training: SideCard;
  readonly evaluation: SideCard;
};

export type SideCard = {
  /** Null: nobody knows. */
  readonly tasks: number | null;
  readonly sources: readonly SourceCard[];
  /** Only reasons for which something was left out. */
  readonly dropped: readonly DroppedTasks[];
};

export type DroppedTasks = {
  /** In words, such as `exact duplicate of an earlier task`. */
  readonly reason: string;
  readonly count: number;
  /** Places of some of them. */
  readonly examples: readonly string[];
};
