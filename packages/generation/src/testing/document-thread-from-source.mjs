// The thread of documents in the repository, where it is TypeScript. Builds start documents/document-thread.js.
import { register } from 'tsx/esm/api';

register();
await import('../documents/document-thread.ts');
