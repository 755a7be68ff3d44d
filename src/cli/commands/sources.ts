// headworks sources: what the server extracts from by itself, and how its runs go.
import type { Command } from 'commander';
import { Option } from 'commander';
import type {
  ExtractionRun,
  ExtractionRunStarted,
  ExtractionRuns,
  ExtractionSource,
  ExtractionSources,
} from '../../api/extraction.ts';
import type { HeadworksClient } from '../../app/client/session.ts';
import { CoreError } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { humanMoment } from '../output.ts';
import { readYamlFile } from '../read-yaml-file.ts';
import type { CliSession } from '../session.ts';

const path = '/api/v1/extraction/sources';

export function registerSources(program: Command, host: CommandHost): void {
  const group = program
    .command('sources')
    .description('registered sources, extracted on a schedule or on demand');
  examples(group, ['headworks sources', 'headworks sources create acme.yaml', 'headworks sources run acme']);
  registerList(group, host);
  registerAdd(group, host);
  registerRemove(group, host);
  registerRun(group, host);
  registerRuns(group, host);
}

function registerList(group: Command, host: CommandHost): void {
  const command = group.command('list', { isDefault: true }).description('list registered sources');
  examples(command, ['headworks sources list --json']);
  act(host, command, async (session) => {
    const { out, io } = session;
    const answer = await session.withClient((client) => listed(session, client));
    const now = io.clock.now();
    if (out.isJson) out.json(answer);
    else if (answer.sources.length === 0)
      out.line('No sources are registered. Add one with "headworks sources create FILE".');
    else
      out.table(
        ['NAME', 'KIND', 'SCHEDULE', 'NEXT', 'VAULT'],
        answer.sources.map((source) => [
          source.name,
          source.kind,
          source.schedule === null ? '–' : source.active ? source.schedule : `${source.schedule} (off)`,
          source.next_run_at === null ? '–' : humanMoment(source.next_run_at, now),
          source.vault ?? '',
        ]),
      );
    return exitCodes.ok;
  });
}

function registerAdd(group: Command, host: CommandHost): void {
  const command = group
    .command('create')
    .argument('<file>')
    .description('register a source from a YAML file: name, kind, settings, options, schedule');
  examples(command, ['headworks sources create acme.yaml']);
  act(host, command, async (session, _options, [file = '']) => {
    const body = await readYamlFile(session.io.cwd, file);
    const { signal } = session.io;
    const source = await session.withClient((client) =>
      client.call<ExtractionSource>('POST', path, { body, signal }),
    );
    if (session.out.isJson) session.out.json(source);
    else session.out.line(`Source ${source.name} is registered.`);
    return exitCodes.ok;
  });
}

function registerRemove(group: Command, host: CommandHost): void {
  const command = group
    .command('delete')
    .argument('<name>')
    .description('forget a source; its vault and the list of its runs stay');
  examples(command, ['headworks sources delete acme']);
  act(host, command, async (session, _options, [name = '']) => {
    await session.withClient(async (client) => {
      const { id } = await named(session, client, name);
      await client.call('DELETE', `${path}/${id}`, { signal: session.io.signal });
    });
    if (session.out.isJson) session.out.json({ removed: name });
    else session.out.line(`Source ${name} is removed.`);
    return exitCodes.ok;
  });
}

interface RunOptions {
  readonly fresh?: boolean;
  readonly retryFailed?: boolean;
}

function registerRun(group: Command, host: CommandHost): void {
  const command = group
    .command('run')
    .argument('<name>')
    .description('start a run of a source; it resumes an interrupted run')
    .addOption(new Option('--fresh', 'start over instead of resuming').conflicts('retryFailed'))
    .option('--retry-failed', 'ask again for what did not come in the last run');
  examples(command, ['headworks sources run acme', 'headworks sources run acme --retry-failed']);
  act<RunOptions>(host, command, async (session, { fresh, retryFailed }, [name = '']) =>
    session.withClient(async (client) => {
      const { id } = await named(session, client, name);
      const started = await client.call<ExtractionRunStarted>('POST', `${path}/${id}/runs`, {
        body: { fresh: fresh === true, retry_failed: retryFailed === true },
        signal: session.io.signal,
      });
      if (session.out.isJson) session.out.json(started);
      else
        session.out.line(
          client.isOwnServer
            ? `Run ${started.run_id} waits for a server. Start one with "headworks serve".`
            : `Run ${started.run_id} is started. Watch it with "headworks sources runs".`,
        );
      return exitCodes.ok;
    }),
  );
}

function registerRuns(group: Command, host: CommandHost): void {
  const command = group
    .command('runs')
    .argument('[name]')
    .description('list runs, the newest first, those of commands included')
    .option('--limit <count>', 'how many at most', wholeNumber(1, 500), 20);
  examples(command, ['headworks sources runs', 'headworks sources runs acme --json']);
  act<{ limit: number }>(host, command, async (session, { limit }, [source]) => {
    const { out, io } = session;
    const answer = await session.withClient((client) =>
      client.call<ExtractionRuns>('GET', '/api/v1/extraction/runs', {
        query: { source, limit },
        signal: io.signal,
      }),
    );
    if (out.isJson) out.json(answer);
    else if (answer.runs.length === 0) out.line('There are no such runs.');
    else
      out.table(
        ['ID', 'SOURCE', 'BY', 'STATE', 'STARTED', 'ITEMS', 'CALLS', 'NOTE'],
        answer.runs.map((run) => rowOf(run, io.clock.now())),
      );
    return exitCodes.ok;
  });
}

function rowOf(run: ExtractionRun, now: number): string[] {
  const items = run.types.reduce((sum, type) => sum + type.items, 0);
  const started = run.started_at === null ? '–' : humanMoment(run.started_at, now);
  const counts = [String(items), String(run.calls)];
  return [run.id, run.source, run.origin, run.state, started, ...counts, run.message ?? ''];
}

const listed = ({ io }: CliSession, client: HeadworksClient): Promise<ExtractionSources> =>
  client.call<ExtractionSources>('GET', path, { signal: io.signal });

async function named(session: CliSession, client: HeadworksClient, name: string): Promise<ExtractionSource> {
  const { sources } = await listed(session, client);
  const source = sources.find((each) => each.name === name);
  if (source) return source;
  const known = sources.map((each) => each.name).join(', ') || 'none';
  throw new CoreError('NOT_FOUND', `There is no source ${name}. Registered: ${known}.`);
}
