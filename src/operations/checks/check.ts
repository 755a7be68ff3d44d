// The result of a check, and how checks are run: concurrently, each with a time limit.
import type { Clock } from '../../core/index.ts';
import { abortable, HeadworksError, messageOf, systemClock } from '../../core/index.ts';

export interface DoctorCheck {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'problem' | 'not-configured';
  readonly detail: string;
  readonly remedy: string | null;
}

export interface DoctorReport {
  readonly checks: readonly DoctorCheck[];
}

export type Finding = Omit<DoctorCheck, 'name'>;

export type Check = readonly [name: string, run: () => Finding | Promise<Finding>];

export const ok = (detail: string): Finding => ({ state: 'ok', detail, remedy: null });
export const notConfigured = (detail: string, remedy: string | null): Finding => ({
  state: 'not-configured',
  detail,
  remedy,
});
export const warning = (detail: string, remedy: string): Finding => ({ state: 'warning', detail, remedy });
export const problem = (detail: string, remedy: string): Finding => ({ state: 'problem', detail, remedy });

/** The report is as slow as its slowest check. */
const checkTimeoutMs = 5_000;

/** Results in the order given; a check that fails or times out becomes a problem. */
export async function runChecks(
  checks: readonly Check[],
  clock: Pick<Clock, 'after'> = systemClock,
): Promise<readonly DoctorCheck[]> {
  const timeout = new AbortController();
  const cancel = clock.after(checkTimeoutMs, () => timeout.abort(new CheckTimeout()));
  try {
    return await Promise.all(checks.map((check) => runCheck(check, timeout.signal)));
  } finally {
    cancel();
  }
}

class CheckTimeout extends Error {
  override readonly name = 'CheckTimeout';
  override readonly message = `no response within ${checkTimeoutMs / 1_000} s`;
}

async function runCheck([name, run]: Check, timeout: AbortSignal): Promise<DoctorCheck> {
  try {
    return { name, ...(await abortable((async () => run())(), timeout)) };
  } catch (error) {
    return { name, ...problem(`The check failed: ${messageOf(error)}`, remedyFor(error)) };
  }
}

function remedyFor(error: unknown): string {
  if (error instanceof CheckTimeout)
    return 'See the checks "state store" and "redis": one of them does not respond.';
  if ((error as NodeJS.ErrnoException).code === 'EACCES')
    return 'Run this as the user of the server, or as root.';
  const code = error instanceof HeadworksError ? error.code : '';
  if (code.startsWith('REDIS_')) return 'See the check "redis".';
  if (code.startsWith('STATE_')) return 'See the check "state store".';
  return 'Follow the message; the server log may have more.';
}
