/**
 * Small runs in which the rules of a training loop decide which episodes are trained, sampled again, left out, or
 * sampled by older weights. Each case runs once without interruption. For each point of `kills`, it then runs again, is
 * killed at this point, and is resumed.
 */

export type Task = { readonly task_id: string; readonly main_query: string; readonly metadata: object };

export type GoldenCase = {
  readonly name: string;
  readonly tasks: readonly Task[];
  /** Keys of the configuration that differ from those of the other cases, by section. */
  readonly changes: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /**
   * The points at which the process is killed; see `job/agent.ts` and `job/backbone.ts`. Steps 2 and 4 are saved, so
   * step 3 is repeated after a kill at `decided 3`.
   */
  readonly kills: readonly string[];
  /** The error that ends the run at the third step. The run is then resumed without the cause. */
  readonly failsWith?: string;
};

/** `mishapsOf(index)` says what `job/agent.ts` does with the task. */
function makeTasks(count: number, mishapsOf: (index: number) => object = () => ({})): readonly Task[] {
  return Array.from({ length: count }, (_, index) => ({
    task_id: `train${index}`,
    main_query: `Say ${index}`,
    metadata: { mishaps: mishapsOf(index) },
  }));
}

/** With 7 tasks and batches of 3, a batch reaches into the next pass. */
const numTasks = 7;
const kills = ['sampling 30', 'decided 3', 'saving 4'];

export const goldenCases: readonly GoldenCase[] = [
  {
    name: 'failing-places',
    tasks: makeTasks(numTasks, (index) => ({ fails: [[1], [], [0, 2, 3], [3], [0, 1], [2], []][index] })),
    changes: { rollout: { failed_episode_policy: 'partial_group', min_group_share: 0.5 } },
    kills,
  },
  {
    name: 'failing-tasks',
    tasks: makeTasks(numTasks, (index) => ({ fails: [[], [0, 1, 2, 3], [2], [], [0, 1, 2, 3], [], []][index] })),
    changes: { rollout: { failed_episode_policy: 'drop_group' } },
    kills,
  },
  {
    name: 'refill-groups',
    tasks: makeTasks(numTasks, (index) => (index % 3 === 0 ? { reward: 1 } : {})),
    changes: { rollout: { refill_groups: 2 } },
    kills: ['sampling 36', 'decided 3', 'trained 4'],
  },
  {
    name: 'max-staleness',
    tasks: makeTasks(15),
    changes: {
      trainer_common: { max_staleness: 2 },
      task_reader: { shuffle: false },
      golden: { ahead: 2 },
    },
    kills: ['sampling 30', 'decided 3', 'trained 4'],
  },
  {
    name: 'mini-batches-and-epochs',
    tasks: makeTasks(numTasks),
    changes: { trainer_common: { mini_batch_num: 2, ppo_epochs: 2 } },
    kills: ['sampling 30', 'decided 11', 'saving 16'],
  },
  {
    name: 'zero-reward',
    tasks: makeTasks(numTasks, (index) => ({ fails: [[1], [], [0, 2, 3], [3], [0, 1], [2], [0, 1, 2, 3]][index] })),
    changes: { rollout: { failed_episode_policy: 'zero_reward' } },
    kills,
  },
  {
    name: 'outage-in-a-group',
    tasks: makeTasks(numTasks, (index) => ({ lost: index % 2 === 0 ? [index % 4] : [], isGroupLost: index === 5 })),
    changes: { rollout: { max_attempts: 2 } },
    kills: ['sampling 30', 'decided 3', 'trained 4'],
  },
  {
    name: 'gradient-not-finite',
    tasks: makeTasks(numTasks),
    changes: { golden: { nan_at: 3 } },
    kills: ['sampling 30', 'decided 3', 'saving 2'],
    failsWith: 'The gradient norm is NaN',
  },
];
