// The thread of QuickJS in the repository, where it is TypeScript. Builds start quickjs/quickjs-thread.js.
import { register } from 'tsx/esm/api';

register();
await import('../quickjs/quickjs-thread.ts');
