import type { Backbone } from '@agentjet/core';
import type { RunFolder } from '@agentjet/run-folder';

type Repeating = Pick<Backbone, 'capabilities' | 'arithmetic'>;

/** Whether this process makes the steps of a run again as the one before made them, to the last bit. */
export async function repeatsAsBefore(
  { capabilities, arithmetic }: Repeating,
  folder: Pick<RunFolder, 'readArithmetic'>,
): Promise<boolean> {
  if (!capabilities.repeatsSeed) return false;
  const before = await folder.readArithmetic();
  return before === undefined || before === arithmetic;
}

/** Writes down what the newest weights are made with. Not before what was sampled by other weights is marked as such. */
export async function noteArithmetic(
  { arithmetic }: Pick<Backbone, 'arithmetic'>,
  folder: Pick<RunFolder, 'readArithmetic' | 'writeArithmetic'>,
): Promise<void> {
  if (arithmetic !== undefined && (await folder.readArithmetic()) !== arithmetic)
    await folder.writeArithmetic(arithmetic);
}
