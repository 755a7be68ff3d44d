// headworks demo: a server on embedded stores in a folder of its own, and what to try with it.
import { join, relative } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../config/index.ts';
import { HeadworksError } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { addServerFlags } from '../option-flags.ts';
import type { CliIo, RunningServer } from '../ports.ts';
import type { CliSession } from '../session.ts';
import { adminTokenHint } from './admin-token-hint.ts';
import { noteBesideLogs, runServer } from './run-server.ts';

export function registerDemo(program: Command, host: CommandHost): void {
  const command = program
    .command('demo')
    .description('start a server on embedded stores, in a folder of its own, and show what there is');
  addServerFlags(command);
  examples(command, ['headworks demo', 'headworks demo --port 0']);
  act(host, command, async (session) => {
    const config = demoConfig(session);
    try {
      return await runDemo(session, config);
    } catch (error) {
      if (!isDefaultPortTaken(error, config)) throw error;
      const { port } = config.server;
      noteBesideLogs(session, config, `Port ${port} is taken; the demo takes another one.`);
      return runDemo(session, demoConfig(session, { 'server.port': 0 }));
    }
  });
}

/** Whatever is configured, the demo touches neither a server of yours nor the data folder itself. */
function demoConfig(session: CliSession, more: Readonly<Record<string, unknown>> = {}): Config {
  const insist = { 'state.databaseUrl': null, 'redis.url': null, 'client.serverUrl': null, ...more };
  const { folder } = session.config(insist).data;
  return session.config({ ...insist, 'data.folder': join(folder, 'demo') });
}

function isDefaultPortTaken(error: unknown, config: Config): boolean {
  const isDefault = config.resolution.origins['server.port']?.kind === 'default';
  return isDefault && error instanceof HeadworksError && error.code === 'PORT_UNAVAILABLE';
}

function runDemo(session: CliSession, config: Config): Promise<ExitCode> {
  return runServer(session, {
    role: 'demo',
    config,
    welcome: (server) => welcome(session, config, server),
  });
}

function welcome({ io, out }: CliSession, config: Config, server: RunningServer): void {
  const url = String(server.url);
  out.line(
    `Headworks ${io.version}: the demo is ready. It runs on embedded stores and touches nothing else.`,
  );
  out.line();
  out.facts([
    ['address', url],
    ['API docs', `${url}/docs`],
    ['health', `${url}/readyz`],
    ['metrics', `${url}/metrics`],
    ['data', `${config.data.folder} (stop the demo and delete it to begin anew)`],
    ['admin token', adminTokenHint(config, server)],
  ]);
  out.line();
  out.line('Try, in another terminal:');
  for (const [index, [what, command]] of thingsToTry(io, config, url).entries()) {
    out.line(`  ${index + 1}. ${what}`);
    out.line(`     ${out.style('cyan', command)}`);
  }
  out.line();
  out.line('Ctrl-C stops it.');
}

function thingsToTry(io: CliIo, config: Config, url: string): readonly (readonly [string, string])[] {
  const folder = shellWord(shortPath(io.cwd, config.data.folder));
  const headworks = (words: string) => `${invocation(io)} ${words} --data-dir ${folder}`;
  const token = config.server.adminToken === null ? `$(cat ${folder}/admin-token)` : '$HEADWORKS_ADMIN_TOKEN';
  return [
    ['Is everything up?', headworks('doctor')],
    ['Which dependency is in which state?', `curl ${url}/readyz`],
    ['What fell back, and is it repaired?', headworks('ledger --state all')],
    ['Watch background jobs live.', headworks('jobs watch')],
    ['Call the API as admin.', `curl -H "Authorization: Bearer ${token}" ${url}/api/v1/jobs`],
  ];
}

/** The words that start this program again, as whoever started it would write them. */
function invocation(io: CliIo): string {
  const isOurScript = io.env['npm_package_name'] === 'headworks' && io.env['npm_lifecycle_event'] !== 'npx';
  return isOurScript ? 'npm run -s headworks --' : 'headworks';
}

function shortPath(from: string, path: string): string {
  const short = relative(from, path);
  return short === '' || short.startsWith('..') ? path : short;
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
