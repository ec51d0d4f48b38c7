import { createRandom, type Random } from '@agentjet/core';
import { successInterval } from '@agentjet/core/success';
import { createRunFolder, type EpisodeRecord, type RunFolder } from '@agentjet/run-folder';

/** An invented run, which depends only on the seed. Success rises from step to step, and one kind stays behind. */
export type SyntheticRun = {
  readonly experimentDir: string;
  readonly name: string;
  readonly seed: number;
  readonly steps: number;
  /** Groups of a step. Default: 4. */
  readonly groups?: number;
  /** Episodes of a group. Default: 4. */
  readonly repeats?: number;
  /** Tasks of each evaluation, which are at the beginning and at the end. Default: 10; 0 evaluates nothing. */
  readonly tasks?: number;
  /** Tokens of each answer. Default: 6. */
  readonly tokens?: number;
  /** Encodes texts. Default: a token for each character, whose id is its code. */
  readonly encode?: (text: string) => readonly number[];
  /** Text that is added to each question, such as markup that a page must not run. */
  readonly words?: string;
};

const kinds = ['sum', 'difference'] as const;
const toCodes = (text: string): readonly number[] => [...text].map((letter) => letter.charCodeAt(0) % 256);

/** Writes the run and returns its folder, whose claim to write is released. */
export async function writeSyntheticRun(options: SyntheticRun): Promise<RunFolder> {
  const folder = await openSyntheticRun(options);
  await folder.log('started', { model: 'nano', backbone: 'onnx', total_steps: options.steps });
  if (options.tasks !== 0) await evaluateSynthetic(folder, options, 0);
  for (let step = 1; step <= options.steps; step++) await addSyntheticStep(folder, options, step);
  if (options.tasks !== 0) await evaluateSynthetic(folder, options, options.steps);
  await folder.close();
  return folder;
}

export function openSyntheticRun({ experimentDir, name }: SyntheticRun): Promise<RunFolder> {
  const config = [
    'ajet:',
    `  experiment_name: ${name}`,
    '  backbone: onnx',
    '  model:',
    '    path: nano',
    '  rollout:',
    '    num_repeat: 4',
    '  trainer_common:',
    '    report_by: kind',
    '    val_pass_n: 1',
  ];
  return createRunFolder({ experimentDir, experimentName: name, configYaml: `${config.join('\n')}\n` });
}

/** Appends one step with its episodes. */
export async function addSyntheticStep(folder: RunFolder, options: SyntheticRun, step: number): Promise<void> {
  const { seed, steps, groups = 4, repeats = 4 } = options;
  const random = createRandom(seed * 7919 + step);
  const episodes = Array.from({ length: groups }, (_none, group) => {
    const task = `t${(step * groups + group) % 997}`;
    return withAdvantages(
      Array.from({ length: repeats }, (_each, repeat) =>
        createEpisode({
          options,
          random,
          task,
          group: `e${step}-${task}`,
          repeat,
          chance: chanceAt(step, steps, task),
        }),
      ),
    );
  }).flat();
  const rewards = episodes.map(({ reward }) => Number(reward ?? 0));
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const metrics = {
    step,
    reward_mean: mean,
    success_rate: mean,
    episodes: episodes.length,
    groups,
    loss: 0.1 * (random.next() - 0.5),
    entropy: 0.5 * Math.exp(-step / steps) + 0.02 * random.next(),
    grad_norm: 0.2 + random.next(),
    learning_rate: 1e-4,
    seconds_sampling: 1 + random.next(),
    seconds_training: 0.5 + random.next() / 2,
    generated_tokens: episodes.reduce((sum, { generated_tokens: tokens }) => sum + Number(tokens), 0),
  };
  await folder.recordStep(metrics, episodes);
}

/** Appends an evaluation. A step that both trains and is evaluated has both kinds of episodes in its file. */
export async function evaluateSynthetic(folder: RunFolder, options: SyntheticRun, step: number): Promise<void> {
  const { seed, steps, tasks = 10 } = options;
  const random = createRandom(seed * 104_729 + step);
  const episodes = Array.from({ length: tasks }, (_none, at) => {
    const task = `v${at}`;
    return createEpisode({
      options,
      random,
      task,
      group: `v${step}-${task}`,
      repeat: 0,
      chance: chanceAt(step, steps, task),
    });
  });
  const successes = episodes.filter(({ is_success: isSuccess }) => isSuccess === true).length;
  const scores = episodes.map(({ is_success: isSuccess }) => ({ successes: isSuccess === true ? 1 : 0, trials: 1 }));
  const { low, high } = successInterval(scores);
  const rate = successes / tasks;
  await folder.recordEvaluation(
    { step, success_rate: rate, reward_mean: rate, episodes: tasks, success_low: low, success_high: high, seconds: 1 },
    episodes,
  );
}

/** One kind is learned, and the other one is not. */
function chanceAt(step: number, steps: number, task: string): number {
  return kindOf(task) === 'sum' ? 0.2 + (0.75 * step) / Math.max(1, steps) : 0.15;
}

const kindOf = (task: string): string => kinds[Number(task.slice(1)) % 2] ?? 'sum';

type Place = {
  readonly options: SyntheticRun;
  readonly random: Random;
  readonly task: string;
  readonly group: string;
  readonly repeat: number;
  readonly chance: number;
};

function createEpisode({ options, random, task, group, repeat, chance }: Place): EpisodeRecord {
  const { encode = toCodes, tokens = 6, words = '' } = options;
  const number = Number(task.slice(1));
  const [left, right] = [number * 7, number + 3];
  const isSum = kindOf(task) === 'sum';
  const expected = String(isSum ? left + right : left - right);
  const question = `What is ${left} ${isSum ? 'plus' : 'minus'} ${right}?${words}`;
  const isSuccess = random.next() < chance;
  const answer = isSuccess ? expected : String(left + right + 1 + random.int(9));
  const [prompt, said] = [encode(question), toLength(encode(answer), tokens)];
  const isFailed = random.next() < 0.01;
  return {
    episode_id: `${group}-r${repeat}`,
    group_id: group,
    task_id: task,
    main_query: question,
    task_metadata: { answer: expected, kind: kindOf(task) },
    repeat_index: repeat,
    seed: random.int(2 ** 31),
    status: isFailed ? 'failed' : 'completed',
    ...(isFailed
      ? { error: { code: 'timeout', message: 'The episode took longer than 30 s.' } }
      : {
          reward: isSuccess ? 1 : 0,
          is_success: isSuccess,
          reason: isSuccess ? 'the numbers are equal' : `not ${expected}`,
        }),
    seconds: 0.2 + random.next(),
    calls: { answered: 1, truncated: 0, malformedToolCalls: 0, malformedArguments: 0, unknownTools: 0 },
    forks: {},
    splices: {},
    foreign_messages: {},
    generated_tokens: said.length,
    trained_tokens: said.length,
    metadata: { answer },
    agents: ['solver'],
    policy_versions: [0],
    turns: [toTurn(`${group}-r${repeat}`, prompt.length, said.length)],
    samples: [toSample([...prompt, ...said], prompt.length, random)],
  };
}

/** Repeats or cuts, so that every answer has the wanted number of tokens. */
function toLength(ids: readonly number[], length: number): readonly number[] {
  return Array.from({ length }, (_none, at) => ids[at % ids.length] ?? 0);
}

const toTurn = (id: string, promptTokens: number, generatedTokens: number) => ({
  turn_id: `${id}/0`,
  index: 0,
  agent_name: 'solver',
  target_tag: 'solver',
  prompt_tokens: promptTokens,
  reused_tokens: 0,
  generated_tokens: generatedTokens,
  policy_version: 0,
  is_truncated: true,
  fork: null,
  sample: 0,
  splices: [],
  foreign_messages: {},
  parts: [{ author: 'user', start: 0, end: promptTokens }],
});

function toSample(ids: readonly number[], promptTokens: number, random: Random) {
  const isSampled = (at: number): boolean => at >= promptTokens;
  return {
    agent_name: 'solver',
    target_tag: 'solver',
    ids,
    loss_mask: ids.map((_id, at) => (isSampled(at) ? 1 : 0)),
    logprobs: ids.map((_id, at) => (isSampled(at) ? -Number((random.next() ** 3 * 3).toFixed(4)) : 0)),
    advantages: ids.map(() => 0),
    policy_versions: ids.map(() => 0),
  };
}

/** Rewards of a group minus their mean. */
function withAdvantages(episodes: readonly EpisodeRecord[]): readonly EpisodeRecord[] {
  const rewards = episodes.map(({ reward }) => Number(reward ?? 0));
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  return episodes.map((episode, at) => ({
    ...episode,
    samples: episode.samples.map((sample) => ({
      ...sample,
      advantages: sample.loss_mask.map((mask) => (mask === 1 ? Number(((rewards[at] ?? 0) - mean).toFixed(4)) : 0)),
    })),
  }));
}
