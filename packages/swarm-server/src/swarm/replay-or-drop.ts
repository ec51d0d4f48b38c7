import { goneError, isReplayMismatch } from './episode-answers.js';
import type { SwarmContext } from './swarm-context.js';

/**
 * Returns the result of `replay`. If the recorded calls do not give the same tokens, the episode is dropped and the
 * promise rejects with WireError `gone`.
 */
export async function replayOrDrop<Result>(
  { ledger, writer }: SwarmContext,
  episodeId: string,
  replay: () => Result,
): Promise<Result> {
  try {
    return replay();
  } catch (error) {
    if (!isReplayMismatch(error)) throw error;
    if (ledger.state.episodes.get(episodeId)?.state === 'running') ledger.drop(episodeId, 'replay_mismatch');
    await writer.synced();
    throw goneError(ledger.state, episodeId);
  }
}
