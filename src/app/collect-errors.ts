// Reports all configuration problems together, not one per attempt.
import { CoreError, HeadworksError } from '../core/index.ts';

/** Runs every check. Fails with the only error, or with CONFIG_INVALID and one line per problem. */
export async function collectErrors(checks: readonly (() => unknown)[]): Promise<void> {
  const failures: HeadworksError[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof HeadworksError)) throw error;
      failures.push(error);
    }
  }
  const [first, second] = failures;
  if (first && !second) throw first;
  if (!first) return;
  const problems = failures.flatMap(problemsOf);
  const list = problems.map((problem) => `  - ${problem}`).join('\n');
  throw new CoreError('CONFIG_INVALID', `There are ${problems.length} problems:\n${list}`, {
    details: { problems },
  });
}

function problemsOf({ details, message }: HeadworksError): readonly string[] {
  const { problems } = details;
  return Array.isArray(problems) ? problems.map(String) : [message];
}
