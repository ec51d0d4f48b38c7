import type { Backbone } from '@agentjet/core';
import type { RunFolder } from '@agentjet/run-folder';

type Repeating = Pick<Backbone, 'capabilities' | 'arithmetic'>;

/** Whether this process repeats the steps of a run exactly as the previous process made them, to the last bit. */
export async function repeatsAsBefore(
  { capabilities, arithmetic }: Repeating,
  folder: Pick<RunFolder, 'readArithmetic'>,
): Promise<boolean> {
  if (!capabilities.repeatsSeed) return false;
  const before = await folder.readArithmetic();
  return before === undefined || before === arithmetic;
}

/**
 * Records the `arithmetic` that computed the newest weights. Call it only after samples from weights with another
 * arithmetic were marked.
 */
export async function noteArithmetic(
  { arithmetic }: Pick<Backbone, 'arithmetic'>,
  folder: Pick<RunFolder, 'readArithmetic' | 'writeArithmetic'>,
): Promise<void> {
  if (arithmetic !== undefined && (await folder.readArithmetic()) !== arithmetic)
    await folder.writeArithmetic(arithmetic);
}
