/** Returns the repair if there is no server at an address. `key`: the configuration key of the address. */
export const repairAddress = (key: string | undefined): string =>
  `Start the server, or correct its address${key === undefined ? '' : `: ${key}, or task_reader.env_service.env_url`}.`;
