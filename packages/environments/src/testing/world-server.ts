import type { Environment, Session } from '@agentjet/rollout';
import type { CounterWorld } from './counter-world.js';
import type { FaultPlan } from './faults.js';

/** An environment over a `CounterWorld`. Its server disturbs requests according to a plan. */
export type WorldServer = {
  readonly environment: Environment;
  readonly close: () => Promise<void>;
};

export type StartWorld = (world: CounterWorld, plan: FaultPlan) => Promise<WorldServer>;

/** Acts in a session as its protocol does: with a step, or with the tool `act`. */
export async function act(
  session: Session,
  words: string,
): Promise<{ readonly text: string; readonly isDone: boolean }> {
  if (session.tools.some(({ name }) => name === 'act')) {
    const { text } = (await session.call?.('act', { words })) ?? { text: '' };
    return { text, isDone: text.endsWith('at 5') };
  }
  const result = await session.step?.(words);
  return { text: result?.observation.text ?? '', isDone: result?.isDone === true };
}
