import { isEvaluationPending } from './evaluate.js';
import { isThrough } from './share-watch.js';
import { isComplete, type SwarmContext } from './swarm-context.js';

/**
 * Returns whether the run is done: every step is made or every task is trained, no episode runs, and the last
 * evaluation and the last checkpoint are over. The state of the server and the answers to claims both use this
 * function, so they agree on the end of a run.
 */
export function isRunDone({ policies, ledger, evaluation }: SwarmContext): boolean {
  const isEvaluated = policies.slice(0, 1).every((lead) => !isEvaluationPending(lead));
  if (ledger.numRunning > 0 || evaluation.isRunning || !isEvaluated) return false;
  return policies.every((each) => each.weights.phase === 'waiting' && (isOver(each) || isThrough(each)));
}

/** Returns whether the weights of the last step answer calls. */
const isOver = (context: SwarmContext): boolean =>
  isComplete(context) && context.weights.version >= context.settings.maxSteps;
