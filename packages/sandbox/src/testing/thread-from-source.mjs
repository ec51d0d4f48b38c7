// Starts the QuickJS thread from its TypeScript source in the repository. Builds start quickjs/quickjs-thread.js.
import { register } from 'tsx/esm/api';

register();
await import('../quickjs/quickjs-thread.ts');
