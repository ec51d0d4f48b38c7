import { EmbeddedEngine } from './embedded-engine.js';
import type { SchedulerOptions } from './scheduler.js';
import type { StepModel } from './step-model.js';

/** Opens an engine over an existing model, for tests. The model stays open when the engine closes. */
export function createTestEngine(model: StepModel, options: SchedulerOptions, policyVersion = 0): EmbeddedEngine {
  const weights = { model, policyVersion, close: async () => undefined };
  return new EmbeddedEngine({ shape: model, open: async () => weights }, options);
}
