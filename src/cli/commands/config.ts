// headworks config: shows every setting with its value and source. Needs no server.
import type { Command } from 'commander';
import { describeConfig, optionReference, valueText } from '../../config/index.ts';
import type { CliContext } from '../command.ts';
import { action, examples } from '../command.ts';
import { addServerFlags } from '../session.ts';

export function register(command: Command, context: CliContext): void {
  command.option('--docs', 'print the reference of all settings in Markdown instead');
  addServerFlags(command);
  examples(command, ['headworks config', 'headworks config --json', 'HEADWORKS_PORT=9000 headworks config']);
  action<{ docs?: boolean }>(context, command, async (session, { docs }) => {
    const { out, io } = session;
    if (docs) return void io.stdout.write(optionReference());
    const config = session.config();
    const rows = describeConfig(config);
    const { file, warnings } = config.resolution;
    if (out.isJson) return out.json({ file, options: rows, warnings });
    out.table(
      ['OPTION', 'VALUE', 'SOURCE'],
      rows.map(({ path, value, source }) => [path, valueText(value), source]),
      (text, column, row) =>
        out.style(rows[row]?.source === 'default' ? 'dim' : column === 2 ? 'cyan' : 'bold', text),
    );
    out.note(file === null ? 'No headworks.yaml was read.' : `Read ${file}.`);
  });
}
