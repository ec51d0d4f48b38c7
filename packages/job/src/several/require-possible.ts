import { ConfigError, isGivenInCode, toSnakeCase, type CommonConfig } from '@agentjet/core';
import type { JobInputs } from '@agentjet/inputs';
import { isGroupJudge } from '@agentjet/rollout';

/** Throws ConfigError `several_policies` for settings that an ordinary run supports only with one policy. */
export function requirePossible(config: CommonConfig, inputs: JobInputs): void {
  const [problem] = [...ofInputs(inputs), ...ofSettings(config), ...ofCode(config)];
  if (problem === undefined) return;
  const names = Object.keys(config.swarm.policies).map(toSnakeCase).join(', ');
  throw new ConfigError('several_policies', `swarm.policies names ${names}. With several policies, ${problem}`);
}

function ofInputs({ judge, processes }: JobInputs): readonly string[] {
  return [
    ...(judge !== undefined && isGroupJudge(judge)
      ? ['a judge scores single episodes, and this one scores whole groups. Give a judge with judge(task, output).']
      : []),
    ...(processes === undefined
      ? []
      : ['workflows run in the process of the run. Set rollout.workflow_processes to 0.']),
  ];
}

function ofSettings({ taskReader, swarm }: CommonConfig): readonly string[] {
  const { shares, sampleCollection } = swarm;
  const { samples } = taskReader.difficulty;
  return [
    ...(samples === 0
      ? []
      : [`a run cannot choose tasks by difficulty, and task_reader.difficulty.samples is ${samples}. Set it to 0.`]),
    ...(shares.length === 0
      ? []
      : ['an ordinary run takes all tasks in one order. Remove swarm.shares, or run `ajet swarm serve`.']),
    ...(sampleCollection === 'enough_tasks' || sampleCollection === 'finish_enough_tasks'
      ? []
      : [
          `an ordinary run makes a step after enough tasks, and swarm.sample_collection is ${sampleCollection}. Remove it, or run \`ajet swarm serve\`.`,
        ]),
  ];
}

/**
 * Returns a problem for each of these parts that code passed as an object. Each policy opens its own parts, so the
 * configuration must name them.
 */
function ofCode({ backbone, model, trainerCommon }: CommonConfig): readonly string[] {
  const named = {
    backbone,
    'model.template_family': model.templateFamily,
    'trainer_common.algorithm.adv_estimator': trainerCommon.algorithm.advEstimator,
  };
  return Object.entries(named).flatMap(([key, name]) =>
    isGivenInCode(name)
      ? [`each policy opens its parts by name, and ${key} is given in code. Name it: path/file.ts->Export.`]
      : [],
  );
}
