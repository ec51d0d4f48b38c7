// Loaded before a command: it says at its end how much processor time it took.
process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  process.stderr.write(`cpu ${(user + system) / 1e6}`);
});
