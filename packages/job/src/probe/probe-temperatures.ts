import { ConfigError, type CommonConfig } from '@agentjet/core';

/**
 * Returns the temperature of the run and the given ones. Without given ones, it adds 0.7, which a small model may need,
 * or 1, which explores more.
 */
export function chooseTemperatures(
  { rollout }: CommonConfig,
  given: readonly number[] | undefined,
  onNotice: (message: string) => void,
): readonly [number, ...number[]] {
  const { temperature, requestSampling } = rollout;
  const wrong = given?.find((value) => !Number.isFinite(value) || value < 0 || value > 100);
  if (wrong !== undefined)
    throw new ConfigError(
      'wrong_value',
      `A temperature of the probe is ${wrong}. Give numbers from 0 to 100, such as 1 and 0.7.`,
    );
  if (requestSampling === 'honour')
    onNotice(
      'rollout.request_sampling is "honour": if the agent sets a temperature itself, the temperatures of the probe have no effect.',
    );
  const others = given ?? [temperature > 0.85 ? 0.7 : 1];
  return [temperature, ...new Set(others.filter((other) => other !== temperature))];
}
