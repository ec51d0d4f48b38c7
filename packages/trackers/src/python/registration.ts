import { defineTracker, type TrackerRegistration } from '../tracker.js';
import { openPythonTracker } from './python-tracker.js';

/** Defines a tracker whose only library is for Python. */
const define = (name: 'wandb' | 'swanlab'): TrackerRegistration =>
  defineTracker({ name, keepsFirst: true, open: (run) => openPythonTracker(name, run) });

export const wandb = define('wandb');
export const swanlab = define('swanlab');
