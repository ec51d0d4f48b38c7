export { ModelTrainer, type ModelTrainerOptions } from './model/model-trainer.js';
export { createCountingTrainer } from './testing/counting-trainer.js';
export { watchRunDisk } from './served/run-disk.js';
export { testSettings } from './testing/test-settings.js';
export { defaultKeyLimits, defaultOpenEpisodes } from './http/key-limits.js';
export { defaultLimits } from './http/read-json.js';
