// Starts the worker thread of the embedded backbone from its TypeScript source. Builds start
// backbones/embedded/worker/worker.js.
import { register } from 'tsx/esm/api';

register();
await import('../backbones/embedded/worker/worker.ts');
