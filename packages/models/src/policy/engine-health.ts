import { BackboneError, EngineError, toErrorMessage, type Backbone, type Engine, type Teacher } from '@agentjet/core';

/** A run ends if its engine can no longer answer calls. These say so. */
export type EngineHealth = {
  /**
   * Throws the reason of `gone`, or BackboneError `engine_failed` if no call was answered since the last check and at
   * least one call failed because of the engine itself. The weights are broken then, and further steps would only waste
   * tasks and checkpoints.
   */
  readonly check: () => void;
  /** Aborts if the process or thread of the model, or of its teacher, has ended. Undefined if there is none. */
  readonly gone: AbortSignal | undefined;
};

/** An engine, with a check that it still answers calls. */
export type WatchedEngine = EngineHealth & { readonly engine: Engine };

export function watchEngine(
  { engine, gone: own }: Pick<Backbone, 'engine' | 'gone'>,
  teacher?: Pick<Teacher, 'gone'>,
): WatchedEngine {
  const signals = [own, teacher?.gone].filter((signal) => signal !== undefined);
  const gone = signals.length === 0 ? undefined : AbortSignal.any(signals);
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
    gone,
    check: () => {
      gone?.throwIfAborted();
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
