// This thread ends a process of workflows together with the run that started it. It is a separate thread because a
// workflow may block the main one, and a killed run cannot send a message. It is not compiled: sources and builds
// start the same file. See src/processes/serve-workflows.ts.
import { workerData } from 'node:worker_threads';

const isAlive = () => {
  if (process.ppid !== workerData.parent) return false;
  try {
    process.kill(workerData.parent, 0); // on Windows the number of the parent stays the same after it has ended
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

setInterval(() => {
  if (!isAlive()) process.kill(process.pid, 'SIGKILL');
}, 250);
