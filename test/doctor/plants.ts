import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '@agentjet/core';
import { type Task, type WorkflowOutput } from 'agentjet';
import { stepOnce } from './by-others/short-tasks.js';
import { otherTemperature } from './other-temperature.js';
import type { Plant } from './plant.js';
import {
  lakes,
  sums,
  base,
  walk,
  isRight,
  solve,
  plainScore,
  nanoWith,
  coin,
  OtherTool,
  Guess,
  Luck,
  AsksTwice,
  lakesInBlocks,
  waysCloser,
} from './plant-jobs.js';

/** Runs of nano that something keeps from learning. Each plants one cause; everything else is as in the tutorials. */

export const plants: readonly Plant[] = [
  {
    name: 'short-answers',
    cause: 'cut_answers',
    open: (options) => solve({ ...options, rollout: { maxResponseLengthInOneTurn: 10 } }),
  },
  {
    // The judge refuses answers that equal the answers of the tasks.
    name: 'wrong-labels',
    cause: 'format_not_met',
    open: (options) =>
      solve(options, (task, answer) =>
        plainScore({ ...task, metadata: { answer: Number(task.metadata['answer']) + 1000 } }, answer),
      ),
  },
  {
    name: 'any-answer-counts',
    cause: 'always_solved',
    open: (options) => solve(options, () => ({ reward: 1, isSuccess: true })),
  },
  {
    name: 'two-kinds-of-tasks',
    cause: 'no_spread',
    open: (options) => {
      const isEasy = (task: Task): boolean => coin(task.taskId) < 0.5;
      return solve(options, (task) => ({ reward: isEasy(task) ? 1 : 0, isSuccess: isEasy(task) }));
    },
  },
  {
    name: 'answer-without-tag',
    cause: 'format_not_met',
    open: (options) =>
      solve(options, (task, answer) => {
        const found = /<answer>(.*)<\/answer>/.exec(String(answer))?.[1];
        return found === undefined
          ? { reward: 0, isSuccess: false, reason: 'No <answer> tag was found.' }
          : plainScore(task, found);
      }),
  },
  {
    name: 'template-without-tools',
    cause: 'tools_not_called',
    open: (options) =>
      solve({ ...options, model: nanoWith((template) => template.replaceAll('{%- if tools %}', '{%- if false %}')) }),
  },
  {
    name: 'other-arguments',
    cause: 'tools_refused',
    open: (options) =>
      base(options)
        .setWorkflow(OtherTool)
        .setJudge((task, output) => plainScore(task, output.metadata?.['answer']))
        .setData(sums()),
  },
  {
    name: 'template-marks-the-last-message',
    cause: 'template_forks',
    open: (options) =>
      walk({
        ...options,
        model: nanoWith((template) =>
          template.replace(
            "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}",
            "{{- '<|im_start|>' + message.role + '\\n' + ('' if loop.last else '.') + message.content + '<|im_end|>\\n' }}",
          ),
        ),
      }),
  },
  { name: 'hot', cause: 'temperature_too_high', open: (options) => walk({ ...options, temperature: 2.5, rate: 1e-4 }) },
  { name: 'cold', cause: 'temperature_too_low', open: (options) => solve({ ...options, temperature: 0.02 }) },
  { name: 'fast', cause: 'collapsed', open: (options) => walk({ ...options, rate: 2e-2 }) },
  { name: 'slow', cause: 'rate_too_low', open: (options) => solve({ ...options, rate: 1e-9 }) },
  {
    name: 'paid-by-the-move',
    cause: 'hollow_reward',
    open: (options) =>
      walk({ ...options, steps: 20 }, (output) => ({
        ...output,
        reward: (output.logMetrics?.['moves'] ?? 0) / 10,
        isSuccess: output.isSuccess ?? false,
      })),
  },
  {
    name: 'form-owns-the-reward',
    cause: 'one_part',
    open: (options) =>
      solve({ ...options, steps: 24 }, (task, answer) => {
        const [form, correct] = [coin(String(answer)), isRight(task, answer) ? 1 : 0];
        return { reward: form + 0.02 * correct, isSuccess: correct === 1, parts: { form, correct: 0.02 * correct } };
      }),
  },
  {
    name: 'half-of-the-lakes-are-closed',
    cause: 'one_kind',
    open: (options) => {
      const withKind = (tasks: readonly Task[]): readonly Task[] =>
        tasks.map((task) => ({
          ...task,
          metadata: { ...task.metadata, kind: coin(task.taskId) < 0.5 ? 'closed' : 'open' },
        }));
      const { training, validation } = lakes();
      return walk(
        { ...options, steps: 16, trainerCommon: { reportBy: 'kind' } },
        (output, task) => (task.metadata['kind'] === 'closed' ? { ...output, reward: 0, isSuccess: false } : output),
        { training: withKind(training), validation: withKind(validation) },
      );
    },
  },
  {
    name: 'four-tasks',
    cause: 'too_few_tasks',
    open: (options) =>
      solve({ ...options, steps: 24, batchSize: 4, rate: 1e-3 }, plainScore, {
        ...sums(),
        training: sums().training.slice(0, 4),
      }),
  },
  {
    name: 'judge-in-the-middle',
    cause: 'judge_undecided',
    open: (options) => solve(options, (task, answer) => ({ reward: 0.5, isSuccess: isRight(task, answer) })),
  },
  {
    name: 'judge-with-a-coin',
    cause: 'judge_unstable',
    open: (options) => {
      const { next } = createRandom(3);
      return solve({ ...options, temperature: 0.5 }, () => {
        const isSuccess = next() < 0.5;
        return { reward: isSuccess ? 1 : 0, isSuccess };
      });
    },
  },
  {
    name: 'service-that-breaks',
    cause: 'outages',
    open: (options) => {
      const { next } = createRandom(5);
      return walk(options, (output) => {
        if (next() < 0.2)
          throw Object.assign(new TypeError('fetch failed'), {
            cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
          });
        return output;
      });
    },
  },
  {
    name: 'one-slow-tool',
    cause: 'stragglers',
    open: (options) => {
      let count = 0;
      return walk({ ...options, steps: 6 }, async (output) => {
        if (count++ % 50 === 0) await sleep(20_000);
        return output;
      });
    },
  },
  {
    name: 'agent-that-throws',
    cause: 'failed_episodes',
    open: (options) => {
      const { next } = createRandom(7);
      return walk(options, (output) => {
        if (next() < 0.35) throw new Error('Cannot read properties of undefined (reading "rows")');
        return output;
      });
    },
  },
  {
    name: 'eight-updates-a-step',
    cause: 'clipped_away',
    open: (options) => walk({ ...options, rate: 3e-3, trainerCommon: { ppoEpochs: 8 } }),
  },
  {
    name: 'paid-by-the-letter',
    cause: 'length_drift',
    open: (options) =>
      solve({ ...options, steps: 14, rate: 1e-3 }, (task, answer) => ({
        reward: Math.min(1, String(answer).length / 200),
        isSuccess: isRight(task, answer),
      })),
  },
  {
    // Every sample is longer than the limit, so it is dropped.
    name: 'longer-than-a-sample',
    cause: 'zero_gradients',
    open: (options) =>
      solve(options).setConfig({
        data: { maxPromptLength: 64, maxResponseLength: 32, overlongSamplePolicy: 'drop_episode' },
      }),
  },
  {
    name: 'left-or-right-by-chance',
    cause: 'lost_variety',
    open: (options) =>
      base({ ...options, steps: 16, rate: 2e-3 })
        .setWorkflow(Guess)
        .setData(lakes()),
  },
  {
    name: 'half-of-the-steps-are-luck',
    cause: 'stopped_learning',
    open: (options) =>
      base({ ...options, steps: 50, rate: 1e-3 })
        .setWorkflow(Luck)
        .setData(lakes()),
  },
  {
    name: 'one-task-pays-in-cents',
    cause: 'gradient_spikes',
    open: (options) =>
      walk(
        {
          ...options,
          steps: 40,
          batchSize: 4,
          rate: 1e-4,
          trainerCommon: { algorithm: { normAdvByStdInGrpo: false } },
        },
        (output, task) =>
          ({ ...output, reward: (output.reward ?? 0) * (coin(task.taskId) < 0.03 ? 100 : 1) }) as WorkflowOutput,
      ),
  },
  {
    // The file has blocks of two kinds of lakes. With 4e-4 nano learns both. With this rate each block destroys the other kind.
    name: 'blocks-at-a-high-rate',
    cause: 'swings',
    open: (options) =>
      base({ ...options, steps: 40, rate: 4.5e-3, trainerCommon: { testFreq: 20 } })
        .setWorkflow(stepOnce)
        .setJudge((task, output) => {
          const isSuccess = waysCloser(task).some((way) => way === output.metadata?.['answer']);
          return { reward: isSuccess ? 1 : 0, isSuccess };
        })
        .setData(lakesInBlocks({ blocks: 10, size: 24 }))
        .setConfig({ taskReader: { shuffle: false } }),
  },
  {
    name: 'five-steps',
    cause: 'no_gain',
    open: (options) => walk({ ...options, steps: 6, rate: 2e-5 }),
  },
  {
    name: 'sampled-hotter-than-asked',
    cause: 'sampler_gap',
    open: (options) => walk({ ...options, backbone: otherTemperature }),
  },
  {
    name: 'paid-by-one-letter',
    cause: 'kl_drift',
    open: (options) =>
      solve(
        { ...options, steps: 20, rate: 1e-3, trainerCommon: { useKlLoss: true, klLossCoef: 1e-6 } },
        (task, answer) => {
          const text = String(answer);
          return { reward: text.split('o').length / (text.length + 20), isSuccess: isRight(task, answer) };
        },
      ),
  },
  {
    name: 'second-call-is-refused',
    cause: 'swallowed_errors',
    open: (options) => base(options).setWorkflow(AsksTwice).setData(sums()),
  },
];
