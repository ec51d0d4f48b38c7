// The worker thread of the embedded backbone in the repository, where it is TypeScript. Builds start backbones/embedded/worker/worker.js.
import { register } from 'tsx/esm/api';

register();
await import('../backbones/embedded/worker/worker.ts');
