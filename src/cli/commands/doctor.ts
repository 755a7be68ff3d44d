// headworks doctor, config: check configuration, stores and services; show every setting with its value and source.
import { callApi } from '../../api/client.ts';
import { toWire } from '../../api/names.ts';
import type { Doctor } from '../../api/server.ts';
import { serverApi } from '../../api/server.ts';
import type { Config } from '../../config/index.ts';
import { describeConfig, optionReference, valueText } from '../../config/index.ts';
import { CoreError, HeadworksError } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { counted, printable } from '../output.ts';
import type { CliSession } from '../session.ts';
import { addServerFlags } from '../session.ts';

export const commands = { doctor: registerDoctor, config: registerConfig };

type DoctorCheck = Doctor['checks'][number];

/** Four times what a start on a Postgres server takes on two busy cores. */
const maxStartMs = 20_000;

function registerDoctor(command: CliCommand): void {
  command.addHelpText(
    'after',
    '\nExits with 1 if a check failed; warnings and unconfigured services do not count.',
  );
  command.examples(['headworks doctor', 'headworks doctor --server https://headworks.example.com --json']);
  command.run(async (session) => {
    const checks = await runChecks(session);
    const failed = checks.filter((check) => check.state === 'problem').length;
    const warnings = checks.filter((check) => check.state === 'warning').length;
    const state = failed > 0 ? 'problem' : warnings > 0 ? 'warning' : 'ok';
    if (session.out.isJson) session.out.json({ state, checks });
    else printChecks(session.out, checks, failed, warnings);
    return failed > 0 ? exitCodes.error : exitCodes.ok;
  });
}

/** Runs the checks of the server; without one, those that this process can make, after the reason why there is none. */
async function runChecks(session: CliSession): Promise<readonly DoctorCheck[]> {
  let name = 'configuration';
  try {
    const config = session.config();
    name = 'server';
    return await checksOfServer(session, config);
  } catch (error) {
    if (!(error instanceof HeadworksError) || session.io.signal.aborted) throw error;
    const offline = await offlineChecks(session, error);
    const checks = [failedStart(name, error, offline), ...offline];
    return checks.map((check) => ({ ...check, detail: session.redactor.text(check.detail) }));
  }
}

/** A failure that another check reports is not reported twice. */
function failedStart(name: string, { message }: Error, others: readonly DoctorCheck[]): DoctorCheck {
  const same = others.find(({ detail }) => detail === message);
  return same
    ? {
        name,
        state: 'not-configured',
        detail: `None is running, and none could be started: see the check "${same.name}".`,
        remedy: null,
      }
    : {
        name,
        state: 'problem',
        detail: message,
        remedy: 'Do what the message says; "headworks config" shows what is configured and where.',
      };
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

const stateLabels = {
  ok: { color: 'green', word: 'ok' },
  warning: { color: 'yellow', word: 'warning' },
  problem: { color: 'red', word: 'PROBLEM' },
  'not-configured': { color: 'dim', word: 'off' },
} as const;

function printChecks(out: Output, checks: readonly DoctorCheck[], failed: number, warnings: number): void {
  const width = Math.max(...checks.map((check) => check.name.length));
  for (const check of checks) {
    const { color, word } = stateLabels[check.state];
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

function registerConfig(command: CliCommand): void {
  command.option('--docs', 'print the reference of all settings in Markdown instead');
  addServerFlags(command, { without: [] });
  command.examples(['headworks config', 'headworks config --json', 'HEADWORKS_PORT=9000 headworks config']);
  command.run<{ docs?: boolean }>(async (session, { docs }) => {
    const { out, io } = session;
    if (docs) return void io.stdout.write(optionReference());
    const config = session.config();
    const description = describeConfig(config);
    if (out.isJson) return out.json(toWire(serverApi.getConfig.output, description));
    const { file, options } = description;
    out.table(
      ['OPTION', 'VALUE', 'SOURCE'],
      options.map(({ name, value, source, sourceName }) => [
        name,
        valueText(value),
        source === 'flag' || source === 'env' ? `${source} ${sourceName}` : (sourceName ?? source),
      ]),
      (text, column, row) =>
        out.style(options[row]?.source === 'default' ? 'dim' : column === 2 ? 'cyan' : 'bold', text),
    );
    out.note(file === null ? 'No headworks.yaml was read.' : `Read ${file}.`);
  });
}
