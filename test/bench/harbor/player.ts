/** Plays episodes until it is killed, or until the benchmark that started it has ended. */
import { doNothing, openBench, playTask, readTasks, solve } from './play.js';

const { ppid } = process;
setInterval(() => {
  if (process.ppid !== ppid) process.exit(1);
}, 1000).unref();
const tasks = await readTasks();
const environment = openBench();
const play = async (first: number): Promise<void> => {
  for (let episode = first; ; episode += 3) {
    const task = tasks[episode % tasks.length];
    if (task !== undefined)
      await playTask(environment, task, episode % 2 === 0 ? solve : doNothing).catch(() => undefined);
  }
};
await Promise.all([0, 1, 2].map(play));
