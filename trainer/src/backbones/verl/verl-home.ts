import { pythonHome } from '../python-worker/find-python.js';

/** The folder `trainer/verl`. */
export const verlHome = pythonHome('verl', 'the versions in its requirements.txt');
