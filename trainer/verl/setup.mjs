// `npm run setup:verl` makes trainer/verl/.venv with the pinned requirements. It is safe to run again.
import { makeEnvironment } from '../make-environment.mjs';

makeEnvironment({ backbone: 'verl', dir: import.meta.dirname, imports: ['verl', 'ray', 'torch', 'transformers'] });
