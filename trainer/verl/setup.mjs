// Makes trainer/verl/.venv with the pinned requirements: `npm run setup:verl`. Safe to run again.
import { makeEnvironment } from '../make-environment.mjs';

makeEnvironment({ backbone: 'verl', dir: import.meta.dirname, imports: ['verl', 'ray', 'torch', 'transformers'] });
