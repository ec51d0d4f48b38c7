import { BaseSequencer } from 'vitest/node';

export class FileOrder extends BaseSequencer {}
