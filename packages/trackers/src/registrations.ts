import { otlp } from './otlp/registration.js';
import { swanlab, wandb } from './python/registration.js';
import { tensorboard } from './tensorboard/registration.js';
import type { TrackerRegistration } from './tracker.js';

/** All trackers. `console` is left out, because every run prints its steps. */
export const trackers: readonly TrackerRegistration[] = [tensorboard, wandb, swanlab, otlp];
