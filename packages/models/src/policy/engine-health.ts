import { BackboneError, EngineError, toErrorMessage, type Engine } from '@agentjet/core';

/** An engine, with a check that it still answers calls. */
export type WatchedEngine = {
  readonly engine: Engine;
  /**
   * Throws BackboneError `engine_failed` if the engine's worker process is gone, or if no call was answered since the
   * last check and at least one call failed because of the engine itself. The weights or the worker are broken then, and
   * further steps would only waste tasks and checkpoints.
   */
  readonly check: () => void;
};

/** The codes of a worker process that has ended or was ended. It never answers again. */
const goneCodes: ReadonlySet<string> = new Set(['worker_died', 'worker_hung']);

export function watchEngine(engine: Engine): WatchedEngine {
  let answered = 0;
  let failure: EngineError | undefined;
  let gone: BackboneError | undefined;
  const generate: Engine['generate'] = async (request) => {
    try {
      const completion = await engine.generate(request);
      answered++;
      return completion;
    } catch (error) {
      if (error instanceof EngineError && error.code === 'failed') failure = error;
      if (error instanceof BackboneError && goneCodes.has(error.code)) gone = error;
      throw error;
    }
  };
  return {
    engine: { contextLength: engine.contextLength, generate },
    check: () => {
      const reason = gone ?? (answered === 0 ? failure : undefined);
      answered = 0;
      failure = undefined;
      if (reason !== undefined)
        throw new BackboneError('engine_failed', `The engine no longer answers calls: ${toErrorMessage(reason)}`, {
          cause: reason,
        });
    },
  };
}
