import { pythonHome } from '../python-worker/find-python.js';

/** The folder `trainer/torch`. */
export const torchHome = pythonHome('torch', 'torch, transformers, msgpack and safetensors');
