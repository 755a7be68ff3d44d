// headworks doctor: is everything there that is configured, and what to do if not.
import type { Command } from 'commander';
import { HeadworksError } from '../../core/index.ts';
import type { DoctorAnswer } from '../../app/api-answers.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import type { CliSession } from '../session.ts';
import { printable } from '../table.ts';

type DoctorCheck = DoctorAnswer['checks'][number];

export function registerDoctor(program: Command, host: CommandHost): void {
  const command = program
    .command('doctor')
    .description('check configuration, stores and services, with a remedy for what failed')
    .addHelpText(
      'after',
      '\nExits with 1 if a check failed; warnings and what is not configured are no failures.',
    );
  examples(command, ['headworks doctor', 'headworks doctor --server https://headworks.example.com --json']);
  act(host, command, async (session) => {
    const checks = await runChecks(session);
    const failed = checks.filter((check) => check.state === 'problem').length;
    const warnings = checks.filter((check) => check.state === 'warning').length;
    const status = failed > 0 ? 'problem' : warnings > 0 ? 'warning' : 'ok';
    if (session.out.isJson) session.out.json({ status, checks });
    else show(session, checks, failed, warnings);
    return failed > 0 ? exitCodes.error : exitCodes.ok;
  });
}

/** The server knows best; what fails on the way to it is a failed check, not a crash. */
async function runChecks(session: CliSession): Promise<readonly DoctorCheck[]> {
  let name = 'configuration';
  try {
    session.config();
    name = 'server';
    return await session.withClient(async (client) => {
      const { checks } = await client.call<DoctorAnswer>('GET', '/api/v1/doctor', {
        signal: session.io.signal,
      });
      const detail = client.isOwnServer
        ? 'None was running; started for this check.'
        : `Runs at ${client.url}.`;
      return [{ name, state: 'ok', detail, remedy: null }, ...checks];
    });
  } catch (error) {
    if (!(error instanceof HeadworksError) || session.io.signal.aborted) throw error;
    const remedy = 'Do what the message says; "headworks config" shows what is configured and where.';
    return [{ name, state: 'problem', detail: session.redactor.text(error.message), remedy }];
  }
}

const looks = {
  ok: { color: 'green', word: 'ok' },
  warning: { color: 'yellow', word: 'warning' },
  problem: { color: 'red', word: 'PROBLEM' },
  'not-configured': { color: 'dim', word: 'off' },
} as const;

function show(session: CliSession, checks: readonly DoctorCheck[], failed: number, warnings: number): void {
  const { out } = session;
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
  const warned = warnings > 0 ? `; ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}` : '';
  out.line(`${failed === 0 ? 'Nothing failed' : `${failed} of ${checks.length} checks failed`}${warned}.`);
}
