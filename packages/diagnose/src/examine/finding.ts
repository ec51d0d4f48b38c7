/** One thing that keeps a run from learning, or that its user should know. */
export type Finding = {
  /** The name of the cause in snake_case, such as `cut_answers`. */
  readonly cause: string;
  /** `nothing` if the run is in order and the finding only says why it no longer changes. */
  readonly asks: 'change' | 'nothing';
  /** What was measured, with its figure, in one or two sentences. */
  readonly summary: string;
  /** The settings or steps that help. */
  readonly cure: string;
  /** The limit that was crossed, and the reason for it. */
  readonly threshold: string;
  /** The ids of two or three episodes that show it. Empty if only metrics show it. */
  readonly episodes: readonly string[];
  /** The first step that shows it. Absent if the whole run does, or if it is not known. */
  readonly since?: number;
  /** The share of the training signal that the cause takes, 0 to 1. */
  readonly taken: number;
};

/** A cause that was not looked for, and the figures or records that it needs. */
export type Unseen = { readonly cause: string; readonly needs: readonly string[] };

/** What the records of a run show. */
export type Examination = {
  /** The kind of records: a run folder, or metrics alone. */
  readonly source: 'run folder' | 'metrics.jsonl' | 'trainer_state.json' | 'verl' | 'trl';
  /** The number of steps with metrics. */
  readonly steps: number;
  /** The number of steps whose episodes were read, if a long run has more. */
  readonly episodesOf?: { readonly read: number; readonly steps: number };
  /** At most five. The most probable cause is first. */
  readonly findings: readonly Finding[];
  readonly unseen: readonly Unseen[];
};
