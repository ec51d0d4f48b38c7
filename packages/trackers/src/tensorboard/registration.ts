import path from 'node:path';
import { defineTracker } from '../tracker.js';
import { openEventFile } from './event-file.js';

/** Writes event files for TensorBoard to the folder `tensorboard` of the run. */
export const tensorboard = defineTracker({
  name: 'tensorboard',
  async open({ runDir }) {
    const file = await openEventFile(path.join(runDir, 'tensorboard'), () => Date.now());
    return {
      write: (rows) => file.append(rows),
      close: () => Promise.resolve(),
    };
  },
});
