import { BackboneError, EngineError, toErrorMessage, type Engine } from '@agentjet/core';

/** An engine, with a check that it still answers calls. */
export type WatchedEngine = {
  readonly engine: Engine;
  /**
   * Throws BackboneError `engine_failed` if no call was answered since the last check and at least one call failed
   * because of the engine itself. The weights or the worker are broken then, and further steps would only waste tasks
   * and checkpoints.
   */
  readonly check: () => void;
};

export function watchEngine(engine: Engine): WatchedEngine {
  let answered = 0;
  let failure: EngineError | undefined;
  const generate: Engine['generate'] = async (request) => {
    try {
      const completion = await engine.generate(request);
      answered++;
      return completion;
    } catch (error) {
      if (error instanceof EngineError && error.code === 'failed') failure = error;
      throw error;
    }
  };
  return {
    engine: { contextLength: engine.contextLength, generate },
    check: () => {
      const reason = answered === 0 ? failure : undefined;
      answered = 0;
      failure = undefined;
      if (reason !== undefined)
        throw new BackboneError('engine_failed', `The engine no longer answers calls: ${toErrorMessage(reason)}`, {
          cause: reason,
        });
    },
  };
}
