// headworks doctor: checks configuration, stores and services; prints a remedy for every problem.
import type { Command } from 'commander';
import { callApi } from '../../api/client.ts';
import type { Doctor } from '../../api/server.ts';
import type { Config } from '../../config/index.ts';
import { CoreError, HeadworksError } from '../../core/index.ts';
import type { CliContext } from '../command.ts';
import { action, examples } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { counted, printable } from '../output.ts';
import type { CliSession } from '../session.ts';

type DoctorCheck = Doctor['checks'][number];

/** Four times what a start on a Postgres server takes on two busy cores. */
const maxStartMs = 20_000;

export function register(command: Command, context: CliContext): void {
  command.addHelpText(
    'after',
    '\nExits with 1 if a check failed; warnings and unconfigured services do not count.',
  );
  examples(command, ['headworks doctor', 'headworks doctor --server https://headworks.example.com --json']);
  action(context, command, async (session) => {
    const checks = await runChecks(session);
    const failed = checks.filter((check) => check.state === 'problem').length;
    const warnings = checks.filter((check) => check.state === 'warning').length;
    const status = failed > 0 ? 'problem' : warnings > 0 ? 'warning' : 'ok';
    if (session.out.isJson) session.out.json({ status, checks });
    else printChecks(session.out, checks, failed, warnings);
    return failed > 0 ? exitCodes.error : exitCodes.ok;
  });
}

/** By the server; without one, the checks that this process can make, after the reason why there is none. */
async function runChecks(session: CliSession): Promise<readonly DoctorCheck[]> {
  let name = 'configuration';
  try {
    const config = session.config();
    name = 'server';
    return await checksOfServer(session, config);
  } catch (error) {
    if (!(error instanceof HeadworksError) || session.io.signal.aborted) throw error;
    const remedy = 'Do what the message says; "headworks config" shows what is configured and where.';
    const first = { name, state: 'problem', detail: error.message, remedy } as const;
    const checks = [first, ...(await offlineChecks(session, error))];
    return checks.map((check) => ({ ...check, detail: session.redactor.text(check.detail) }));
  }
}

async function checksOfServer(session: CliSession, config: Config): Promise<readonly DoctorCheck[]> {
  const { clock, signal } = session.io;
  const late = new AbortController();
  // An embedded store may be slow to open, but does not hang.
  const cancel = config.state.databaseUrl === null ? null : clock.after(maxStartMs, () => late.abort(hung()));
  try {
    return await session.withClient(
      async (client) => {
        cancel?.();
        const { checks } = await callApi(client, 'GET /api/v1/doctor');
        const detail = client.isOwnServer
          ? 'None was running; started for this check.'
          : `Runs at ${client.url}.`;
        return [{ name: 'server', state: 'ok', detail, remedy: null }, ...checks];
      },
      { signal: AbortSignal.any([signal, late.signal]) },
    );
  } finally {
    cancel?.();
  }
}

const hung = (): CoreError =>
  new CoreError(
    'SERVER_UNREACHABLE',
    `No server responded, and none could be started, within ${maxStartMs / 1_000} s. A store may hang.`,
  );

async function offlineChecks(session: CliSession, failure: HeadworksError): Promise<readonly DoctorCheck[]> {
  const config = session.validConfig();
  // The stores of a remote server are not checked from here.
  if (config.client.serverUrl !== null) return [];
  const { runOfflineDoctor } = await import('../../operations/doctor.ts');
  const { checks } = await runOfflineDoctor(config, failure);
  session.io.signal.throwIfAborted();
  return checks;
}

const looks = {
  ok: { color: 'green', word: 'ok' },
  warning: { color: 'yellow', word: 'warning' },
  problem: { color: 'red', word: 'PROBLEM' },
  'not-configured': { color: 'dim', word: 'off' },
} as const;

function printChecks(out: Output, checks: readonly DoctorCheck[], failed: number, warnings: number): void {
  const width = Math.max(...checks.map((check) => check.name.length));
  for (const check of checks) {
    const { color, word } = looks[check.state];
    out.line(
      `${out.style(color, word.padEnd(8))} ${printable(check.name).padEnd(width)}  ${printable(check.detail)}`,
    );
    if (check.remedy !== null && check.state !== 'ok')
      out.line(`${' '.repeat(width + 11)}${out.style('bold', printable(check.remedy))}`);
  }
  out.line();
  const warned = warnings > 0 ? `; ${counted(warnings, 'warning')}` : '';
  out.line(`${failed === 0 ? 'Nothing failed' : `${failed} of ${checks.length} checks failed`}${warned}.`);
}
