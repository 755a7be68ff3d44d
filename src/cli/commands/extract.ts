// headworks extract looker | rest: everything a source has, into a vault. Needs no server and no state store.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { SourceChoice } from '../../app/extract.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { CliSession } from '../session.ts';
import { addExtractionFlags } from '../session.ts';
import { showEstimate, showResult, startScreen } from './extract-screen.ts';

export function registerExtract(program: Command, host: CommandHost): void {
  const group = program
    .command('extract')
    .description('extract a source into a vault within its rate limits; resumes after an interruption');
  examples(group, ['headworks extract looker --dry-run', 'headworks extract rest --source shop.yaml']);
  registerLooker(group, host);
  registerRest(group, host);
}

function registerLooker(group: Command, host: CommandHost): void {
  const command = group
    .command('looker')
    .description('from Looker (LOOKER_BASE_URL, LOOKER_CLIENT_ID, LOOKER_CLIENT_SECRET)');
  addExtractionFlags(command);
  examples(command, [
    'headworks extract looker',
    'headworks extract looker --types dashboards,looks --folder 12 --recursive',
    'headworks extract looker --dry-run --rate-limit-per-minute 600',
  ]);
  act(host, command, (session) => runExtract(session, { kind: 'looker' }));
}

function registerRest(group: Command, host: CommandHost): void {
  const command = group
    .command('rest')
    .description('from a REST API that a file describes')
    .requiredOption('--source <file>', 'the description of the API, in YAML');
  addExtractionFlags(command, ['folder', 'recursive']);
  examples(command, [
    'headworks extract rest --source shop.yaml',
    'headworks extract rest --source shop.yaml --json',
  ]);
  act<{ source: string }>(host, command, (session, { source }) =>
    runExtract(session, { kind: 'rest', file: resolve(session.io.cwd, source) }),
  );
}

async function runExtract(session: CliSession, choice: SourceChoice): Promise<ExitCode> {
  const { io } = session;
  const config = session.config();
  const { estimateExtraction } = await import('../../app/extract.ts');
  const { extractAndReport } = await import('../../app/report-cli-run.ts');
  const screen = startScreen(session, !config.extraction.dryRun);
  const options = {
    signal: io.signal,
    env: io.env,
    onEvent: screen.show,
    onSecret: (secret: string) => session.redactor.add(secret),
  };
  try {
    if (config.extraction.dryRun) {
      showEstimate(session, await estimateExtraction(config, choice, options));
      return exitCodes.ok;
    }
    const result = await extractAndReport(config, choice, options);
    screen.end();
    showResult(session, result);
    if (result.endedBy === 'interrupted') return exitCodes.interrupted;
    return result.status === 'completed' ? exitCodes.ok : exitCodes.incomplete;
  } finally {
    screen.end();
  }
}
