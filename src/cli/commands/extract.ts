// headworks extract looker | rest: extracts a source into a vault. Needs no server and no state store.
import { resolve } from 'node:path';
import type { SourceChoice } from '../../app/extract.ts';
import type { CliCommand } from '../command.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { CliSession } from '../session.ts';
import { addExtractionFlags } from '../session.ts';
import { printEstimate, printResult, showProgress } from './extract-progress.ts';

export function register(group: CliCommand): void {
  group.addHelpText(
    'after',
    '\nAn interrupted extraction resumes when the command is repeated. No server is needed.',
  );
  registerLooker(group);
  registerRest(group);
}

function registerLooker(group: CliCommand): void {
  const command = group
    .command('looker')
    .description('extract Looker content (LOOKER_BASE_URL, LOOKER_CLIENT_ID, LOOKER_CLIENT_SECRET)');
  addExtractionFlags(command);
  command.examples([
    'headworks extract looker',
    'headworks extract looker --types dashboards,looks --folders 12 --recursive',
    'headworks extract looker --dry-run --rate-limit-per-minute 600',
  ]);
  command.run((session) => runExtract(session, { kind: 'looker' }));
}

function registerRest(group: CliCommand): void {
  const command = group
    .command('rest')
    .description('extract from a REST API described in a YAML file')
    .requiredOption('--source <file>', 'YAML file that describes the API');
  addExtractionFlags(command, ['folders', 'recursive']);
  command.examples([
    'headworks extract rest --source shop.yaml',
    'headworks extract rest --source shop.yaml --json',
  ]);
  command.run<{ source: string }>((session, { source }) =>
    runExtract(session, { kind: 'rest', file: resolve(session.io.cwd, source) }),
  );
}

async function runExtract(session: CliSession, choice: SourceChoice): Promise<ExitCode> {
  const { io } = session;
  const config = session.config();
  const { estimateExtraction, extractAndReport } = await import('../../app/extract.ts');
  const progress = showProgress(session, !config.extraction.dryRun);
  const options = {
    signal: io.signal,
    env: io.env,
    onEvent: progress.show,
    onSecret: (secret: string) => session.redactor.add(secret),
  };
  try {
    if (config.extraction.dryRun) {
      printEstimate(session, await estimateExtraction(config, choice, options));
      return exitCodes.ok;
    }
    const result = await extractAndReport(config, choice, options);
    progress.end();
    printResult(session, result);
    if (result.endedBy === 'interrupted') return exitCodes.interrupted;
    return result.state === 'completed' ? exitCodes.ok : exitCodes.incomplete;
  } finally {
    progress.end();
  }
}
