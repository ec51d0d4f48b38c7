import type { CommonConfig, MeasuredLengths } from '@agentjet/core';
import { chooseSettings, type GroupRules, type ProbedTemperature } from '@agentjet/probe';
import type { ChosenSetting } from './probe-report.js';

export type ChoiceParts = {
  readonly config: CommonConfig;
  readonly rules: GroupRules;
  readonly lengths: MeasuredLengths | null;
};

/** Samples in training may be longer than those of the probe by this factor. */
const reserve = 1.25;

/** The settings that the probe would choose. The prediction is made for them. */
export function chooseRunSettings(
  probed: readonly ProbedTemperature[],
  { config, rules, lengths }: ChoiceParts,
): readonly ChosenSetting[] {
  const { temperature, numRepeat } = config.rollout;
  const chosen = chooseSettings(probed, { current: { temperature, numRepeat }, rules });
  return [
    {
      key: 'rollout.temperature',
      value: chosen.temperature,
      isKept: chosen.temperature === temperature,
      reason: chosen.temperature === temperature ? 'no other temperature is clearly better' : 'more groups train',
    },
    {
      key: 'rollout.num_repeat',
      value: chosen.numRepeat,
      isKept: chosen.numRepeat === numRepeat,
      reason: chosen.numRepeat === numRepeat ? 'larger groups are not needed, or would not help' : 'more groups train',
    },
    ...chooseLengths(config, lengths),
  ];
}

/** Raises the limit if a sample was longer. Such a sample would end a run, or its episode would be lost. */
function chooseLengths({ data, rollout }: CommonConfig, lengths: MeasuredLengths | null): readonly ChosenSetting[] {
  const allowed = data.maxPromptLength + data.maxResponseLength;
  if (lengths === null || lengths.longestSample <= allowed) return [];
  const needed = Math.min(rollout.maxModelLen, Math.ceil(lengths.longestSample * reserve));
  return [
    {
      key: 'data.max_response_length',
      value: Math.max(data.maxResponseLength, needed - data.maxPromptLength),
      isKept: false,
      reason: `a sample had ${lengths.longestSample} tokens, and ${allowed} are allowed`,
    },
  ];
}

/** The configuration with the chosen settings that shape a step. */
export function withSettings(config: CommonConfig, settings: readonly ChosenSetting[]): CommonConfig {
  const valueOf = (key: string): number | undefined => settings.find((each) => each.key === key)?.value;
  const { temperature, numRepeat } = config.rollout;
  const chosen = {
    temperature: valueOf('rollout.temperature') ?? temperature,
    numRepeat: valueOf('rollout.num_repeat') ?? numRepeat,
  };
  const maxResponseLength = valueOf('data.max_response_length') ?? config.data.maxResponseLength;
  return { ...config, rollout: { ...config.rollout, ...chosen }, data: { ...config.data, maxResponseLength } };
}
