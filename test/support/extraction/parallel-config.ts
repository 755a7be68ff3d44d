import type { ParallelConfig } from '../../../src/extraction/parallel-config.ts';
import { defaultQueueSize, parallelDefaults } from '../../../src/extraction/parallel-config.ts';

/** A configuration with the defaults of the document. */
export function parallelConfig(given: Partial<ParallelConfig> = {}): ParallelConfig {
  const workers = given.workers ?? parallelDefaults.workers;
  return { ...parallelDefaults, queueSize: defaultQueueSize(workers), ...given };
}
