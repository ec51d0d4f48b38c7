/**
 * A cell of the release table: a tutorial on a backbone. `minutes` is how long three seeds take on two cores. It is used
 * only to order the cells.
 */
export type Cell = {
  readonly tutorial: string;
  readonly backbone: 'onnx' | 'torch';
  readonly conf: string;
  readonly overrides: readonly string[];
  readonly model: string;
  /** The name of the model in results. Present if `model` may be a path of this machine. */
  readonly modelName?: string;
  /** Scripts of the tutorial that get its data, or write it. They run before each seed. */
  readonly scripts?: readonly string[];
  /**
   * What the run begins with, if not the cell's model: the model that `ajet sft` makes with the same seed, or the model
   * after a first week of users. See `prepare-cell.ts`.
   */
  readonly begins?: 'imitation' | 'first week';
  /** The teacher is trained with rewards first, with the seed of the student. */
  readonly teacher?: TeacherOfCell;
  /**
   * A frozen model that the judge `llm` of `conf` asks. It is served while the cell trains, and first tried on labelled
   * answers.
   */
  readonly judge?: { readonly model: string; readonly labelled: string };
  /**
   * `conf` names several policies, so a server trains them and a client runs the agents. The result is read from this
   * policy's metrics.
   */
  readonly servedPolicy?: string;
  /** A server trains, and `ajet swarm run -- <program>` runs this program for it. */
  readonly servedProgram?: readonly string[];
  readonly minutes: number;
  /** A requirement that `npm install` does not install, and how to install it. The cell runs only if it is found. */
  readonly needs?: { readonly what: string; readonly isHere: () => boolean };
  /** The environment of the run. */
  readonly env?: Readonly<Record<string, string>>;
};

export type TeacherOfCell = {
  /** The configuration of the rewards. */
  readonly conf: string;
  /**
   * The model that becomes the teacher, if it is not the model of the cell. The student is then trained with the same
   * rewards too, so that the tokens of both ways can be compared.
   */
  readonly model?: string;
  /** Settings of the teacher's training, and of the student's training with rewards. */
  readonly overrides?: readonly string[];
  readonly studentOverrides?: readonly string[];
};

/** Returns the name of the cell's model in results. */
export function modelNameOf({ model, modelName }: Pick<Cell, 'model' | 'modelName'>): string {
  return modelName ?? model;
}

export function cellName({ tutorial, backbone }: { readonly tutorial: string; readonly backbone: string }): string {
  return `${tutorial}.${backbone}`;
}
