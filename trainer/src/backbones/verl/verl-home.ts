import { pythonHome } from '../python-worker/find-python.js';

/** `trainer/verl`. */
export const verlHome = pythonHome('verl', 'the versions in its requirements.txt');
