export function fillFigures(page: string, readResult: (file: string) => unknown): Promise<string>;
