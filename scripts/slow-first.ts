// Order of test files: the slowest start first.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** They mostly wait for real time, so they run beside the checks, which use the CPU. */
const waiting = ['e2e/extract-rate-limit.test.ts', 'tenancy/executions-taken-over.test.ts'];

/** Vitest itself orders by size without earlier results, as after `npm ci`. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification): number => {
      if (waiting.some((file) => moduleId.endsWith(file))) return 0;
      return ['e2e', 'integration', 'unit'].indexOf(project.name) + 1;
    };
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other));
  }
}
