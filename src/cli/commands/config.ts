// headworks config: every option, its value and where that came from. Needs no server.
import type { Command } from 'commander';
import { describeConfig, optionReference, valueText } from '../../config/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { addServerFlags } from '../session.ts';

export function registerConfig(program: Command, host: CommandHost): void {
  const command = program
    .command('config')
    .description('show every option with its value and where it came from, secrets masked')
    .option('--docs', 'print the reference of all options in Markdown instead');
  addServerFlags(command);
  examples(command, ['headworks config', 'headworks config --json', 'HEADWORKS_PORT=9000 headworks config']);
  act<{ docs?: boolean }>(host, command, async (session, { docs }) => {
    const { out, io } = session;
    if (docs) {
      io.stdout.write(optionReference());
      return exitCodes.ok;
    }
    const config = session.config();
    const rows = describeConfig(config);
    if (out.isJson) {
      out.json({ file: config.resolution.file, options: rows, warnings: config.resolution.warnings });
      return exitCodes.ok;
    }
    out.table(
      ['OPTION', 'VALUE', 'SOURCE'],
      rows.map((row) => [row.path, valueText(row.value), row.source]),
      (text, column, index) =>
        out.style(rows[index]?.source === 'default' ? 'dim' : column === 2 ? 'cyan' : 'bold', text),
    );
    out.note(
      config.resolution.file === null ? 'No headworks.yaml was read.' : `Read ${config.resolution.file}.`,
    );
    return exitCodes.ok;
  });
}
