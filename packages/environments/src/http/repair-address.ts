/** What to do if no server is at an address. `key`: of the configuration that names it. */
export const repairAddress = (key: string | undefined): string =>
  `Start the server, or correct its address${key === undefined ? '' : `: ${key}, or task_reader.env_service.env_url`}.`;
