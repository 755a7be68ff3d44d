import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CliWorld } from '../../test/support/cli-world.ts';
import { pageSize, queryFlag } from '../api/fields.ts';
import { operation } from '../api/operation.ts';
import type { CliContext } from './command.ts';
import { CliCommand } from './command.ts';
import { commandFor } from './derive.ts';
import { exitCodes } from './exit-codes.ts';

const updateThing = operation('PUT /api/v1/things/:id', {
  id: 'things.update',
  summary: 'Update a thing',
  access: 'admin',
  params: z.object({ id: z.string() }),
  query: z.strictObject({ is_dry: queryFlag(false).describe('Change nothing.') }),
  body: z.strictObject({
    color: z.enum(['red', 'blue']).describe('Its color.'),
    max_size: z.number().int().min(1).max(9).optional(),
    labels: z.array(z.string().min(1)).optional(),
  }),
  output: z.object({ id: z.string() }),
});

const listThings = operation('GET /api/v1/things', {
  id: 'things.list',
  summary: 'List things',
  access: 'admin',
  query: z.strictObject({ limit: pageSize(500, 100) }),
  output: z.object({ things: z.array(z.string()) }),
});

async function run(...args: string[]) {
  const world = new CliWorld({ answer: () => ({ id: 'a', things: [] }) });
  const context: CliContext = { io: world.io, session: null, exitCode: exitCodes.ok };
  const program = new CliCommand(context, 'headworks')
    .exitOverride()
    .option('--json')
    .configureOutput({
      writeOut: (text) => world.io.stdout.write(text),
      writeErr: (text) => world.io.stderr.write(text),
    });
  const spec = {
    examples: ['headworks update 1'],
    print: ({ out }: { out: { line(text: string): void } }) => out.line('updated'),
  };
  commandFor(program, updateThing, {
    name: 'update',
    arguments: { id: ['thing', 'id of the thing'] },
    ...spec,
  });
  commandFor(program, listThings, { name: 'list', flags: { limit: { default: 7 } }, ...spec });
  for (const command of program.commands) command.exitOverride();
  await program.parseAsync(args, { from: 'user' });
  return world;
}

describe('commandFor', () => {
  it('turns path parameters into arguments, and query and body fields into flags', async () => {
    const world = await run(
      'update',
      'a b',
      '--color',
      'red',
      '--max-size',
      '3',
      '--labels',
      'x,y',
      '--is-dry',
    );
    expect(world.calls).toMatchObject([
      {
        method: 'PUT',
        path: '/api/v1/things/a%20b',
        query: { is_dry: true },
        body: { color: 'red', max_size: 3, labels: ['x', 'y'] },
      },
    ]);
    expect(world.out).toBe('updated\n');
  });

  it('writes the response as JSON with --json', async () => {
    const world = await run('update', '1', '--color', 'red', '--json');
    expect(JSON.parse(world.out)).toEqual({ id: 'a', things: [] });
  });

  it('uses the default of the command before that of the API', async () => {
    expect((await run('list')).calls).toMatchObject([{ query: { limit: 7 } }]);
  });

  it.each([
    [['update', '1'], /required option '--color <color>'/],
    [['update', '1', '--color', 'green'], /Allowed choices are red, blue/],
    [['update', '1', '--color', 'red', '--max-size', '10'], /It must be a whole number from 1 to 9/],
    [['list', '--limit', 'x'], /It must be a whole number/],
  ])('rejects %j before any server is called', async (args, message) => {
    await expect(run(...args)).rejects.toThrow(message);
  });
});
