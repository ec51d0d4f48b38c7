// `npm run setup:torch` makes trainer/torch/.venv with the pinned requirements. It is safe to run again.
import { makeEnvironment } from '../make-environment.mjs';

makeEnvironment({ backbone: 'torch', dir: import.meta.dirname, imports: ['torch', 'transformers'] });
