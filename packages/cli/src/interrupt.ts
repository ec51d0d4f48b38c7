/** Ctrl-C once asks to stop, twice ends the process. */
export type Interrupt = {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** 130 after SIGINT, 143 after SIGTERM; undefined when there was none. */
  exitCode(): number | undefined;
  dispose(): void;
};

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

export function listenForInterrupt(onFirst: () => void): Interrupt {
  const controller = new AbortController();
  let code: number | undefined;
  const onSignal = (name: keyof typeof exitCodes): void => {
    if (code !== undefined) process.exit(exitCodes[name]);
    code = exitCodes[name];
    onFirst();
    controller.abort(new Error(`stopped by ${name}`));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    exitCode: () => code,
    dispose: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
