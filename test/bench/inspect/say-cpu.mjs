// This file is loaded before a command. It prints at the end how much processor time the command took.
process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  process.stderr.write(`cpu ${(user + system) / 1e6}`);
});
