// Starts the document thread from its TypeScript source in the repository. Builds start documents/document-thread.js.
import { register } from 'tsx/esm/api';

register();
await import('../documents/document-thread.ts');
