// Makes trainer/torch/.venv with the pinned requirements: `npm run setup:torch`. Safe to run again.
import { makeEnvironment } from '../make-environment.mjs';

makeEnvironment({ backbone: 'torch', dir: import.meta.dirname, imports: ['torch', 'transformers'] });
